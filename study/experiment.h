// An experiment: operations on streams of GPUs, and what they do when they run. Experiment files are read by
// study/experiment_reader.h, points of sweeps over their parameters answered by study/sweep/point_question.h.
#pragma once

#include <map>
#include <string>

#include "study/operation_graph.h"
#include "study/report/results.h"
#include "study/testbed.h"

namespace c3sim::study {

struct Experiment {
  std::string name;
  OperationGraph graph;
};

// What would run, without running it: one row per operation of the expanded graph.
Results describe_experiment(const Testbed& testbed, const Experiment& experiment);

// One row per operation: when it ran and how much longer it took than alone ("results"); the same of each operation of
// the file, where any stands for several ("operations"), and of each stream ("streams"); and how much the streams
// gained over running everything one after another ("overlap"). Packets, which may wait for others, are not run alone:
// with any of them, all operations are run once more in the order of the list, each after the one before. Throws
// sim::ConfigError where packets wait for ever.
Results run_experiment(Testbed& testbed, const Experiment& experiment);

// What one run measures, in microseconds: "makespan_us", and of each operation of the file, all that it stands for
// together, "NAME.start_us" (of the first), "NAME.end_us" (of the last) and "NAME.time_us" (the sum of all).
using Quantities = std::map<std::string, double>;
Quantities measure(Testbed& testbed, const Experiment& experiment);

}  // namespace c3sim::study
