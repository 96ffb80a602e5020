// What a governor's loop remembers of the work before, whichever loop it is: it goes from one run on a GPU into the
// next.
#pragma once

#include <variant>

#include "models/machine/clock_loop.h"
#include "models/machine/power_limit_loop.h"

namespace c3sim::models {

using GovernorState = std::variant<PowerLimitLoop::State, ClockLoop::State>;

}  // namespace c3sim::models
