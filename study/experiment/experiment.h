// An Experiment is a graph of operations on streams of GPUs, which this file runs and reports on.
// study/experiment/experiment_reader.h reads experiment files, and study/sweep/point_question.h answers points of
// sweeps over their parameters.
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
  // `wholes` has the operations before cutting, by GraphNode::whole: each by itself, a dependent pair one after the
  // other, with collectives by RCCL. The experiment is compared with them (study/program/operation_graph.h).
  std::vector<Schedule> wholes;
  // A framework launches the operations, one by one or from a graph. The run then ends when its GPUs are done, as a
  // step does, rather than when the host knows of that.
  bool by_framework = false;
};

// Returns what would run, without running it: one row per operation of the expanded graph.
Results describe_experiment(const Testbed& testbed, const Experiment& experiment);

// Runs the experiment. "results" has one row per operation: when it ran, how long it kept its queue busy, and how much
// longer than alone (study/play/queue_time.h). "operations" has the operations of the file if any of them stands for
// several, and "streams" the streams if there are several. "overlap" compares the makespan with that of the same
// operations uncut on one stream, with collectives by RCCL (study/program/operation_graph.h). There is no speedup if no
// operations could overlap or if packets would wait forever on one stream. Throws NeverEnds if packets wait forever.
Results run_experiment(Testbed& testbed, const Experiment& experiment);

// Returns what one run measures, as a table of one row: "makespan_us", then "serial_us" and "speedup" as above. Each
// operation of the file adds, over all that it stands for, "NAME.start_us" (the first start), "NAME.end_us" (the last
// end) and "NAME.time_us" (the sum of times on queues). A cell is empty if there is no number.
Results measured(Testbed& testbed, const Experiment& experiment);

}  // namespace c3sim::study
