// Computes a step of a pipeline from a run of a few layers and micro-batches on the first stage, one in between and the
// last. The run gives the time of each kind of turn; place() puts the turns of all stages together: a turn begins when
// the previous turn of its stage has ended and its input has arrived; its send runs on another stream, concurrently
// with the next turn. The host of a stage launches turn after turn as far ahead as it can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/units.h"
#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/layer_templates.h"
#include "study/program/operation_graph.h"
#include "study/program/pipeline.h"
#include "study/program/step_operation.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

// A Pace is the time of consecutive operations.
struct Pace {
  sim::Time gpu{0};   // on the GPU, if launched long before
  sim::Time host{0};  // of the host, to launch them
  sim::Time both{0};  // from the start of the first launch to the end, on an otherwise idle GPU

  Pace then(const Pace& next) const;
  Pace repeated(std::int64_t times) const;
};

// A TurnStay is the interval of a turn or of its send.
struct TurnStay {
  sim::Time begin{0};
  sim::Time end{0};

  sim::Time length() const { return end - begin; }
  // Returns how long both intervals overlap.
  sim::Time beside(const TurnStay& other) const;
};

struct TimedTurn {
  std::optional<Turn> turn{};  // nullopt: the update after all turns
  bool waits = false;          // for its input from the previous stage, or a gradient from the next
  bool sends = false;          // to the next stage, or a gradient to the previous one
  Pace pace{};
  sim::Time lost{0};         // added time because of concurrent sends
  sim::Time send{0};         // from the start of the send to the arrival at the other stage
  sim::Time send_launch{0};  // of the host
  // place() sets these:
  TurnStay at{};
  TurnStay sent{};
};
using TimedStages = std::vector<std::vector<TimedTurn>>;

// Places each turn as early as possible, in the order of its stage, and returns the end of the last one. Turns that
// never can begin fail a check.
sim::Time place(TimedStages& stages);

// sends_of() returns the sends from and to a stage, turns_of() its turns.
std::vector<TurnStay> sends_of(const TimedStages& stages, std::size_t stage);
std::vector<TurnStay> turns_of(const TimedStages& stages, std::size_t stage);
// Returns the sum of the overlaps of one interval with each of the others.
sim::Time beside(const TurnStay& one, const std::vector<TurnStay>& others);
// Returns how long a turn's send overlaps turns of its stage or of the receiving stage.
sim::Time beside_send(const TimedStages& stages, std::size_t stage, const TimedTurn& sender);

// A Slope is the extra time per time of overlap with others, fitted by least squares over groups of samples otherwise
// alike. Lengths are relative to the group's mean, overlaps to the sample's length.
class Slope {
 public:
  struct Sample {
    double length = 0.0;  // seconds, as is the overlap with others
    double beside = 0.0;
  };
  void add(const std::vector<Sample>& alike);
  // Returns 0 to 1; 0 if all samples have the same overlap.
  double value() const;

 private:
  double above_ = 0.0;
  double below_ = 0.0;
};

inline constexpr std::int64_t layers_of_stage = 2;  // simulated layers of each kind per stage

// few_of_pipeline() returns the question that is simulated for one with several stages or micro-batches;
// few_pipeline_blocks() returns its blocks, in which the stage in between has all kinds of layers of such stages.
StepQuestion few_of_pipeline(const StepQuestion& question);
std::vector<StepBlock> few_pipeline_blocks(const StepQuestion& question, const StepMachine& machine);

struct PipelineStep {
  StepTotals totals;     // all stages, micro-batches and layers
  OperationGraph graph;  // of the simulated part
  Timeline timeline;     // of the simulated part, launched by hosts that are never late
};

// Computes a step with several stages or micro-batches; `testbed` determines how it is launched.
PipelineStep pipeline_step(const StepQuestion& question, const LayerTemplates& templates, Testbed& testbed);

}  // namespace c3sim::study
