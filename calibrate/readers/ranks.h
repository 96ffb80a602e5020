// Traces of several ranks of one run: what each tells of a collective holds what it waited for the others.
#pragma once

#include <span>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// Of a collective that traces of several ranks of the same GPUs tell, the least of their times counts: who came last
// waited for nobody. It holds no waits then; those of other ranks are left out.
void take_least_of_ranks(std::span<Reading> readings);

}  // namespace c3sim::calibrate
