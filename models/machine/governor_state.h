// GovernorState is the state of a governor's loop of either kind. The loop remembers work that has ended, so its state
// passes from one run on a GPU to the next.
#pragma once

#include <variant>

#include "models/machine/clock_loop.h"
#include "models/machine/power_limit_loop.h"

namespace c3sim::models {

using GovernorState = std::variant<PowerLimitLoop::State, ClockLoop::State>;

}  // namespace c3sim::models
