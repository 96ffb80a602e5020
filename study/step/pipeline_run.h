// Computes a step of a pipeline from a run of a few layers and micro-batches on the first stage, one in between and the
// last. The run tells how long each kind of turn takes alone; the turns of all stages are then played together. A turn
// begins when the previous turn of its stage has ended and its input has arrived; its send runs on another stream,
// concurrently with the next turn. The host of a stage launches turn after turn as far ahead as it can.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/units.h"
#include "study/network/step_question.h"
#include "study/play/known_work.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/layer_templates.h"
#include "study/program/operation_graph.h"
#include "study/program/step_operation.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

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

// A Pace is the time of consecutive operations.
struct Pace {
  sim::Time gpu{0};   // on the GPU, if launched long before
  sim::Time host{0};  // of the host, to launch them
  sim::Time both{0};  // from the start of the first launch to the end, on an otherwise idle GPU

  Pace then(const Pace& next) const;
  Pace repeated(std::int64_t times) const;
};

struct TimedTurn {
  std::optional<Turn> turn{};  // nullopt: the update after all turns
  bool waits = false;          // for its input from the previous stage, or a gradient from the next
  bool sends = false;          // to the next stage, or a gradient to the previous one
  Pace pace{};
  sim::Time send{0};           // from the start of the send to the arrival at the other stage, without concurrent turns
  sim::Time send_launch{0};    // of the host
  bool send_is_slowed = true;  // by concurrent turns
  // play_turns() sets these:
  Stay at{};
  Stay sent{};
  sim::Time lost{0};  // added time because of concurrent sends
};
using TimedStages = std::vector<std::vector<TimedTurn>>;

// SendsBeside is how long sends from and to its stage ran beside a turn.
struct SendsBeside {
  sim::Time from{0};
  sim::Time to{0};
};

// TurnSlowdowns are times beside others over times alone.
struct TurnSlowdowns {
  double sending = 1.0;    // of a turn beside a send from its stage
  double receiving = 1.0;  // of a turn beside a send to its stage
  double send = 1.0;       // of a send beside a turn of either stage

  // Returns what turns lost to the sends beside them.
  sim::Time lost_to(const SendsBeside& beside) const;
};

// Plays the turns of all stages, in the order of each stage, with their hosts and sends, and returns the end of the
// last turn. Turns that never can begin fail a check.
sim::Time play_turns(TimedStages& stages, const TurnSlowdowns& slowdowns = {});

// A Lost is time that work lost to what ran beside it.
class Lost {
 public:
  struct Sample {
    sim::Time length{0};
    sim::Time beside{0};  // how long others ran beside it
  };
  // Adds samples of work that takes as long alone. The shortest one tells what those lost that had as much beside them.
  // One sample tells nothing. Returns itself.
  Lost& add(std::span<const Sample> alike);
  // Returns the time beside others over that of the same work alone, 1 to 10.
  double slowdown() const;

 private:
  sim::Time lost_{0};
  sim::Time beside_{0};
};

}  // namespace c3sim::study
