// Runs as pictures over time: operations on their streams, and how busy the memories and links of every GPU are.
#pragma once

#include <span>

#include "sim/trace.h"
#include "study/results.h"
#include "study/testbed.h"

namespace study {

// Plays each run again. It becomes a group of the trace, with a track per stream and the utilisation of HBM, Infinity
// Cache and the busiest link out of each GPU, in percent, as counters.
void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::TraceSink& sink);

}  // namespace study
