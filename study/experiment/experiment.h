// An experiment: operations on streams of GPUs, and what they do when they run. Experiment files are read by
// study/experiment/experiment_reader.h, points of sweeps over their parameters answered by
// study/sweep/point_question.h.
#pragma once

#include <string>
#include <vector>

#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/report/results.h"

namespace c3sim::study {

struct Experiment {
  std::string name;
  OperationGraph graph;
  // What the operations were cut from, by GraphNode::whole: each by itself, of a dependent pair the one after the
  // other, with collectives by RCCL. What the experiment is held against: study/program/operation_graph.h.
  std::vector<Schedule> wholes;
  // A framework launches it, op by op or from a graph: it ends when its GPUs are done, as a step does, rather than when
  // the host knows of that.
  bool by_framework = false;
};

// What would run, without running it: one row per operation of the expanded graph.
Results describe_experiment(const Testbed& testbed, const Experiment& experiment);

// One row per operation ("results"): when it ran, how long its queue was busy with it, and how much longer than alone
// (study/play/queue_time.h); the same of each operation of the file, where any stands for several ("operations"), and
// of each stream ("streams"). The makespan ("overlap") stands beside that of the same operations uncut on one stream,
// with their collectives by RCCL (study/program/operation_graph.h), which is what the speedup is over; there is none
// where no operations of the experiment could overlap, nor where packets would wait for ever on one stream. Throws
// NeverEnds where packets wait for ever.
Results run_experiment(Testbed& testbed, const Experiment& experiment);

// Returns what one run measures, as a table of one row: "makespan_us", then "serial_us" and "speedup" as above. Each
// operation of the file adds, for all that it stands for, "NAME.start_us" (of the first), "NAME.end_us" (of the last)
// and "NAME.time_us" (the sum of all on their queues). A cell is empty where there is no number.
Results measured(Testbed& testbed, const Experiment& experiment);

}  // namespace c3sim::study
