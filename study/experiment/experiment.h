// An Experiment is a graph of operations on streams of GPUs, which this file runs and reports on.
// study/experiment/experiment_reader.h reads experiment files, and study/sweep/point_question.h answers points of
// sweeps over their parameters.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/report/results.h"

namespace c3sim::study {

// What a run tells besides times: the bytes that GPU 0 moves, by level, and how long operations take alone.
enum class Measured { bytes, alone };
constexpr auto all_names(Measured) { return sim::names("bytes", "alone"); }

// A DependentPair is the GEMM and the collective of an operation of the file that is a dependent pair, each by itself.
struct DependentPair {
  std::string listed;
  models::GemmShape gemm;
  Schedule collective;
};

struct Experiment {
  std::string name;
  OperationGraph graph;
  // `wholes` has the operations before cutting, by GraphNode::whole: each by itself, a dependent pair one after the
  // other, with collectives by RCCL. The experiment is compared with them (study/program/operation_graph.h).
  std::vector<Schedule> wholes;
  // A framework launches the operations, one by one or from a graph. The run then ends when its GPUs are done, as a
  // step does, rather than when the host knows of that.
  bool by_framework = false;
  std::vector<Measured> measured{};
  std::vector<DependentPair> pairs{};

  bool measures(Measured what) const { return std::ranges::count(measured, what) > 0; }
};

// Returns what would run, without running it: one row per operation of the expanded graph.
Results describe_experiment(const Testbed& testbed, const Experiment& experiment);

// Runs the experiment. "results" has one row per operation: when it ran, how long it kept its queue busy, and how much
// longer than alone (study/play/queue_time.h). "operations" has the operations of the file if any of them stands for
// several, and "streams" the streams if there are several. "overlap" compares the makespan with that of the same
// operations uncut on one stream, with collectives by RCCL (study/program/operation_graph.h). There is no speedup if no
// operations could overlap or if packets would wait forever on one stream. "bytes" has what GPU 0 moves if the file
// asks for it. Throws NeverEnds if packets wait forever.
Results run_experiment(Testbed& testbed, const Experiment& experiment);

// Returns what one run measures, as a table of one row: "makespan_us", then "serial_us" and "speedup" as above. Each
// operation of the file adds, over all that it stands for, "NAME.start_us" (the first start), "NAME.end_us" (the last
// end) and "NAME.time_us" (the sum of times on queues). If the file asks for times alone, there are "NAME.alone_us" or,
// of a dependent pair, "NAME.gemm_us" and "NAME.collective_us", by the backend of its schedule; if it asks for bytes,
// "hbm_read_MB" and others. A cell is empty if there is no number.
Results measured(Testbed& testbed, const Experiment& experiment);

}  // namespace c3sim::study
