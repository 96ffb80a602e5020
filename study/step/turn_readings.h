// What turns of a pipeline take and draw, read off of a run of a few of them: each kind of turn beside nothing that is
// sent, a send beside no turn, and what they lose to each other where both are under way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "models/platform/platform_spec.h"
#include "sim/units.h"
#include "study/run/power_meter.h"
#include "study/run/timeline.h"
#include "study/step/part_of_step.h"
#include "study/step/step_operation.h"
#include "study/step/turn_times.h"

namespace c3sim::study {

// Turns of a simulated stage that take as long as each other; the first gradient is added to nothing.
enum class KindOfTurn { forward, first_gradient, gradient, update };
using TurnKey = std::pair<int, KindOfTurn>;
TurnKey key_of(int stage, const std::optional<Turn>& turn);

// A run of a part without a pause, of so many stages.
struct SeenPipeline {
  const PartOfStep& part;
  int stages = 1;
  std::span<const std::vector<std::int64_t>> layers;  // of each stage of the whole step, of each kind
  const models::PlatformSpec& unlaunched;             // where it ran
  const models::PlatformSpec& launched;               // whose hosts launch the step
  const Timeline& timeline;                           // with factors
  const Timeline& metered;                            // as simulated, and seen by meters
  const std::span<const PowerMeter> meters;           // of the first stages
  sim::Time origin{0};                                // of what was metered, by the clock of its node
};

// What one of them takes, with all layers.
struct WholeTurn {
  int seen = 0;  // so many of which it is the mean
  Pace pace{};
  PowerMeter::Drawn drawn{};  // a turn that factors make longer than it is simulated is at rest for the rest of it
  double compute = 0.0;
  double communication = 0.0;
  double exposed = 0.0;
};

struct TurnReadings {
  std::map<TurnKey, WholeTurn> turns;  // of the stages of the whole step
  sim::Time send{0};                   // beside nothing
  sim::Time send_launch{0};
  std::map<int, sim::Time> sends_before_update;  // by simulated stage
  double turn_slope = 0.0;                       // time that a turn loses for each moment that a send is beside it
  double send_slope = 0.0;                       // the same of a send and the turns of either stage

  sim::Time lost_by_turn(sim::Time beside_sends) const;
  sim::Time send_beside(sim::Time its_turns) const;
};
TurnReadings read_turns(const SeenPipeline& run);

// Of so many simulated stages the one that a stage of the whole step is like: the first, the last, or one between.
int simulated_stage(std::size_t stage, std::size_t stages, int simulated);

}  // namespace c3sim::study
