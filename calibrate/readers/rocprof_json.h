// The JSON that rocprofv3 writes (--output-format json): dispatches, copies and calls of the runtime of every process
// of a run, with the agents, kernels and operations that they name by numbers. Times in nanoseconds of one clock.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/labels.h"
#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

bool is_rocprof_json(std::string_view text);

// Throws sim::ConfigError where there is no work on a GPU.
Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels = {});

}  // namespace c3sim::calibrate
