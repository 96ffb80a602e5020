// Where the clock settles when one run follows another without end and a governor holds the mean of board power under
// the cap: at one ceiling for the whole run, as the governor's window is long against it. It is the fixed point of its
// loop (models/machine/clock_loop.h) but for the dead band. A run longer than the governor's memory, its window and
// period, has it hold the highest mean over so long a stretch.
#pragma once

#include <functional>

#include "models/platform/power_spec.h"
#include "sim/units.h"

namespace c3sim::study {

// What was seen of a run under a ceiling.
struct SteadyRun {
  sim::Watts power;          // the mean that the governor would hold
  sim::Hertz clock_at_work;  // of matrix work, at the last
};

// Tries ceilings, the highest clock first, until mean power meets the cap or the highest clock leaves it below; the
// last one tried is where the clock settles. A few runs; one where nothing comes near the cap. False where it did not
// settle: neither does mean power meet the cap, nor is it known at which clock it passes it.
bool settle_clock(const models::PowerSpec& spec, const std::function<SteadyRun(sim::Hertz ceiling)>& run);

}  // namespace c3sim::study
