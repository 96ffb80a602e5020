// A governor's loop remembers work that has ended. Its state, whichever loop it is, passes from one run on a GPU to the
// next.
#pragma once

#include <variant>

#include "models/machine/clock_loop.h"
#include "models/machine/power_limit_loop.h"

namespace c3sim::models {

using GovernorState = std::variant<PowerLimitLoop::State, ClockLoop::State>;

}  // namespace c3sim::models
