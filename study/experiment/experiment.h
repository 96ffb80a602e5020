// An Experiment is a graph of operations on streams of GPUs. This file reads experiment files (what they include, the
// values of their parameters, the machine that they are for, and the graph that they stand for), and runs them and
// reports on that. docs/experiments.md describes the language; study/sweep/point_question.h answers points of sweeps
// over parameters.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "sim/config/config.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/report/results.h"

namespace c3sim::study {

// Reads a file and lays it over those that it includes (`include: FILE`, or a list): files next to it, below it or
// among the experiments of config_folders(); others are faults. Maps merge, lists are replaced, and an earlier include
// precedes a later one. Throws sim::ConfigError, also for files that include each other in a circle.
sim::Config experiment_config(const std::filesystem::path& file);

// Gives parameters other values, such as "tokens=16384", and declares all parameters. The configuration records faults.
// Call it once, before the configuration is read; copies made before may get other values.
void set_parameters(sim::Config& config, std::span<const std::string> assignments);

// An ExperimentMachine is what an experiment says of its machine: a platform, values for it (`set:
// [gpu.sdma.engines=32]`), a protocol, and how kernels are launched (by default as the platform's own program does).
struct ExperimentMachine {
  std::string platform;
  Settings settings;
  std::optional<models::Protocol> protocol;
  std::optional<models::LaunchMode> launch;

  Beside beside() const { return {.protocol = protocol, .launch = launch}; }
  auto operator<=>(const ExperimentMachine&) const = default;
};
// Throws sim::ConfigError with all faults found so far.
ExperimentMachine read_machine(sim::Config& config);

// Defines `gpus` and `cus` of the machine in expressions and evaluates all parameters. Throws sim::ConfigError with all
// faults found so far.
void resolve_parameters(sim::Config& config, const models::PlatformSpec& platform);

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

// Reads the operations for the platform of the testbed, after read_machine(). Throws sim::ConfigError with all faults
// of the configuration.
Experiment read_experiment(sim::Config& config, const Testbed& testbed);

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
