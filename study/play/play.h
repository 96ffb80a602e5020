// One run of a schedule on a node of its own, and what the runs around it leave and find.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/machine/governor_state.h"
#include "models/node.h"
#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "sim/step_log.h"
#include "sim/units.h"
#include "study/play/power_meter.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Whether runs begin from rest.
bool is_shot(const models::PlatformSpec& platform);
// Whether the clock settles as one run follows another.
bool clock_settles(const models::PlatformSpec& platform);
// Whether governors remember from one round what tells in the next.
bool rounds_differ(const models::PlatformSpec& platform);

// What the run before left: a ceiling of the clock, or what governors remember; as a rule they are at rest.
struct Brought {
  Between between = Between::nothing;
  std::optional<sim::Hertz> ceiling{};
  std::vector<models::GovernorState> governors{};
};

struct Played {
  Timeline timeline;
  SteadyRun as_repeated;  // what a governor would make of it, if it came again and again: of the GPU that draws most
  std::vector<models::GovernorState> governors;  // what they remember of it
};

// Called once commands queued beforehand are in place, at `origin` of the node's clock.
using Attach = std::function<void(models::Node& node, sim::Time origin)>;

// A schedule that never ends, as packets written by hand wait for what nobody writes. Says what each operation waits
// for that has not ended.
class NeverEnds : public sim::ConfigError {
 public:
  using sim::ConfigError::ConfigError;
};

// An operation that asks for other threads of the host than one before it, although all of a run have the same, and
// what is wrong with that.
struct OtherThreads {
  std::size_t place = 0;
  std::string what;
};
std::optional<OtherThreads> other_threads(const Schedule& schedule);

// All of it possible work, by the same threads. `steps`, if given, gets every step from the start of the simulation.
Played play_once(const models::PlatformSpec& platform, const Schedule& schedule, const Brought& brought,
                 Attach attach = {}, sim::StepLog* steps = nullptr);

}  // namespace c3sim::study
