// Traces of several ranks of one run: what each tells of a collective holds what it waited for the others.
#pragma once

#include <span>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// Of the runs of a collective that traces of several ranks of the same GPUs tell, those count in the trace whose rank
// came last and waited for nobody: of them are then the figures, which hold no waits. What a rank never came last to is
// left out of its trace.
void tell_waits_of_ranks(std::span<Reading> readings);

}  // namespace c3sim::calibrate
