// Simulates a whole step of a model on one node: whether it is possible, how long it takes, how much communication is
// exposed, what power it draws, and how well measurements support the result (study/uncertainty/fidelity.h).
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "sim/units.h"
#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/operation_graph.h"
#include "study/program/step_memory.h"
#include "study/program/step_operation.h"
#include "study/report/results.h"
#include "study/step/step_totals.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

struct StepResult {
  StepQuestion question;
  sim::Time time{0};
  // These are times of the kernels and collectives of one GPU: when any of them ran; `exposed` is communication without
  // a concurrent kernel. For the rest the GPU waits: in `host` for a host that has not launched what could begin,
  // otherwise for other GPUs, stages or engines, or between kernels.
  sim::Time compute{0};
  sim::Time communication{0};
  sim::Time exposed{0};
  sim::Time host{0};
  std::array<sim::Time, all_kinds.size()> by_kind{};  // sums over all kernels
  sim::Watts power;                                   // of one GPU, mean over the step
  sim::Hertz clock;                                   // of one GPU, mean over the step
  sim::Flops flops;                                   // model_flops() over the number of GPUs
  StepMemory memory;
  std::vector<std::string> warnings;
  std::map<std::string, StepShare> operations;  // by name
  // The graph and spans cover the first layers, stages and micro-batches only.
  OperationGraph graph;
  std::vector<Span> spans;
  std::int64_t layers_shown = 0;
  int stages_shown = 1;
  int micro_shown = 1;
  bool of_few_turns = false;  // times follow from a few stages and micro-batches of a pipeline

  sim::Time time_of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  sim::Time overlapped() const { return communication - exposed; }
  sim::Time idle() const { return time - compute - exposed - host; }
  sim::Joules energy() const { return power * sim::to_seconds(time); }
  double tokens_per_second() const;
};

// Returns what in the question contradicts itself, the model, the platform or its memory; empty if it can be asked.
// `where` is an option of the command line without dashes.
std::vector<sim::Fault> faults_of(const StepQuestion& question, const StepMachine& machine);

// Returns the platform with the host's launch times of this mode.
models::PlatformSpec launching(models::PlatformSpec platform, models::LaunchMode mode);

// Computes a step; `factor` scales durations of operations. Throws sim::ConfigError with the question's faults.
// Repeated layers are simulated until their period shows, at least `simulated` of them, and all if it does not. Stages
// and micro-batches follow from a few of them (study/step/pipeline_run.h), unless all layers are simulated: then
// nothing is extrapolated, and the result is that of the step run as an experiment (study/ask/command.h).
inline constexpr std::int64_t simulated_layers = 4;
inline constexpr std::int64_t in_whole = std::numeric_limits<std::int64_t>::max();
StepResult ask(const StepMachine& machine, const StepQuestion& question, const Testbed::Factor& factor = {},
               std::int64_t simulated = simulated_layers);

// Returns the approximate seconds of a step for comparisons, from few layers even if their period has not shown by
// then; infinite if the step is impossible.
double about(const StepMachine& machine, const StepQuestion& question);

// Returns the fidelity of the weakest part of a step. Its operations count as they would alone, and launches by the
// host are assumed unless a parameter of theirs was measured or fitted on this platform. No step is better than
// extrapolated, since nothing was fitted to whole steps. The question must have no faults and a carrier for each
// collective.
Fidelity fidelity_of(const StepQuestion& question, const StepMachine& machine);

Results to_tables(const StepResult& result, const StepMachine& machine);
// Formats a time in the unit that leaves one to three digits before the point: "9.108 s".
std::string time_in_words(sim::Seconds time);

}  // namespace c3sim::study
