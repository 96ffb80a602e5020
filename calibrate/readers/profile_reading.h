// What of a profiler's trace a model can be held against: what ran alone on its GPU, a GEMM beside one collective, and
// collectives beside computation, in the run played again. The last two are predictions, which no fit reads. A trace is
// of one rank: times of collectives, and of what ran beside them, hold what that rank waited for others, unless traces
// of all ranks tell it (calibrate/readers/ranks.h).
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// `path` is that of the trace.
Reading reading_of(Profile profile, const std::string& path);

// A trace of PyTorch's profiler; labels are those beside it.
Reading read_torch_trace(std::string_view text, const std::string& path);

}  // namespace c3sim::calibrate
