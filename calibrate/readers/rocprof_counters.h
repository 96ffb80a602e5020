// The counters that rocprofv3 writes as CSV (--pmc): a row per dispatch and counter. Dispatches are serialised and
// slowed down for counting, so that their times are not looked at; what a kernel computed is not said (measurement.h,
// NamedRuns).
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rocprof_counters(std::string_view text);
Reading read_rocprof_counters(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
