// The kernel and memory copy traces that rocprofv3 writes as CSV (--kernel-trace, --memory-copy-trace): a row per
// dispatch or copy, with Start_Timestamp and End_Timestamp in nanoseconds. Neither says what a kernel computed or how
// many bytes were copied: runs are told by name (measurement.h, NamedRuns), those that were alone on their GPU.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rocprof_kernel_trace(std::string_view text);
Reading read_rocprof_kernel_trace(std::string_view text, const std::string& name);

bool is_rocprof_copy_trace(std::string_view text);
Reading read_rocprof_copy_trace(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
