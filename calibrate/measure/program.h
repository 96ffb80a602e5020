// c3sim-measure from its arguments to its exit code.
#pragma once

#include "calibrate/measure/session.h"

namespace c3sim::measure {

// 0: all was measured but for what this machine lacks; 1: GPUs answer no more, or something failed; 2: the user can
// mend it.
int run_program(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace c3sim::measure
