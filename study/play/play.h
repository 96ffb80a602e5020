// Plays a schedule once on a fresh node, given what the run before left, and returns what it leaves for the next run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/machine/governor_loop.h"
#include "models/node.h"
#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "sim/step_log.h"
#include "sim/units.h"
#include "study/play/power_meter.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Returns whether each run begins from rest.
bool is_shot(const models::PlatformSpec& platform);
// Returns whether the clock settles at one ceiling when runs follow each other.
bool clock_settles(const models::PlatformSpec& platform);
// Returns whether rounds differ because governors remember earlier rounds.
bool rounds_differ(const models::PlatformSpec& platform);

// Brought is what the run before left: a ceiling of the clock or governor states. By default governors are at rest.
struct Brought {
  Between between = Between::nothing;
  std::optional<sim::Hertz> ceiling{};
  std::vector<models::GovernorState> governors{};
};

struct Played {
  Timeline timeline;
  SteadyRun as_repeated;  // what a governor would hold if the run repeated, for the GPU that draws most
  std::vector<models::GovernorState> governors;  // their memory at the end of the run
};

// An Attach is called when commands queued beforehand are in place, at time `origin` of the node's clock.
using Attach = std::function<void(models::Node& node, sim::Time origin)>;

// NeverEnds reports a schedule whose hand-written packets wait for words that nobody writes. It says what each
// unfinished operation waits for.
class NeverEnds : public sim::ConfigError {
 public:
  using sim::ConfigError::ConfigError;
};

// other_threads() finds the first operation that asks for other host threads than an earlier one, which no run can
// have, and says what is wrong.
struct OtherThreads {
  std::size_t place = 0;
  std::string what;
};
std::optional<OtherThreads> other_threads(const Schedule& schedule);

// Plays a schedule of possible work by the same host threads. `steps`, if given, records all steps of the simulation.
Played play_once(const models::PlatformSpec& platform, const Schedule& schedule, const Brought& brought,
                 Attach attach = {}, sim::StepLog* steps = nullptr);

}  // namespace c3sim::study
