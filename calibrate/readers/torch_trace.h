// Traces of PyTorch's profiler (export_chrome_trace; Trace Event Format, times in microseconds): matrix products whose
// operators recorded the shapes of their operands (record_shapes=True), and collectives of RCCL or NCCL, which record
// their sizes themselves. Only what was alone on its GPU is measured. A trace is of one rank: a collective's times hold
// what that rank waited for others, so that it is marked as a prediction, which no fit reads.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_torch_trace(std::string_view text);
Reading read_torch_trace(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
