// A whole step of a model on one node: why it cannot be, how long it takes, what of its communication is exposed, what
// it draws, and how far that is backed by measurements (study/uncertainty/fidelity.h).
#pragma once

#include <array>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "sim/units.h"
#include "study/network/step_memory.h"
#include "study/network/step_question.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/operation_graph.h"
#include "study/program/operators.h"
#include "study/program/step_operation.h"
#include "study/report/results.h"
#include "study/step/step_totals.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

struct StepResult {
  StepQuestion question;
  sim::Time time{0};
  // Of the kernels of one GPU and the collectives that it takes part in: when any of them ran, and the time with
  // communication and without a kernel beside it. For the rest of the time the GPU waits: for the host, where the host
  // has not launched what could begin, and otherwise for other GPUs, stages or engines, or between kernels.
  sim::Time compute{0};
  sim::Time communication{0};
  sim::Time exposed{0};
  sim::Time host{0};
  std::array<sim::Time, all_kinds.size()> by_kind{};  // sums over all kernels
  sim::Watts power;                                   // of one GPU, mean over the step
  sim::Hertz clock;                                   // of one GPU, mean over the step
  sim::Flops flops;                                   // of products and attention on one GPU, as the model has them
  StepMemory memory;
  std::vector<std::string> warnings;
  std::map<std::string, StepShare> operations;  // by name
  // Of the first layers of each stage, stages and micro-batches, when each operation ran.
  OperationGraph graph;
  std::vector<Span> spans;
  std::int64_t layers_shown = 0;
  int stages_shown = 1;
  int micro_shown = 1;
  bool of_few_turns = false;  // a pipeline's turns follow from those of a few stages and micro-batches

  sim::Time time_of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  sim::Time overlapped() const { return communication - exposed; }
  sim::Time idle() const { return time - compute - exposed - host; }
  sim::Joules energy() const { return power * sim::to_seconds(time); }
  double tokens_per_second() const;
};

// What of the question the model, the platform or itself contradicts: `where` is the option of the command line,
// without dashes, that asks for it. Memory among it. Empty where it can be asked.
std::vector<sim::Fault> faults_of(const StepQuestion& question, const models::PlatformSpec& platform);

// The platform where a step's kernels are launched like that.
models::PlatformSpec launching(models::PlatformSpec platform, models::LaunchMode mode);

// On durations of operations is `factor`. Throws sim::ConfigError with the question's faults, if it has any. Layers
// that repeat are simulated until their period shows, all where it does not: `simulated` says how many layers there are
// at least. Stages and micro-batches follow from what a few of them show (study/step/pipeline_run.h), unless all layers
// are simulated: then nothing follows from anything, and it is what a run of the step as an experiment says
// (study/ask/command.h).
inline constexpr std::int64_t simulated_layers = 4;
inline constexpr std::int64_t in_whole = std::numeric_limits<std::int64_t>::max();
StepResult ask(const StepMachine& machine, const StepQuestion& question, const Testbed::Factor& factor = {},
               std::int64_t simulated = simulated_layers);

// About as many seconds, for comparisons: of few layers where more would have to be simulated until they repeat.
// Infinite where the step cannot be done.
double about(const StepMachine& machine, const StepQuestion& question);

// A step is backed as far as the least backed of its parts. Its products and collectives count as they would alone.
// Attention, kernels that go through arrays and, op by op, launches by the host are assumed where no parameter of
// theirs was measured or fitted on this platform. No step is better than extrapolated, since nothing was fitted to
// whole steps. The question must have no faults, and says what carries each collective.
Fidelity fidelity_of(const StepQuestion& question, const Platform& platform,
                     std::span<const ElementwiseOperator> operators);

Results to_tables(const StepResult& result, const StepMachine& machine);
// "9.108 s": in the unit that leaves one to three digits before the point.
std::string time_in_words(sim::Seconds time);

}  // namespace c3sim::study
