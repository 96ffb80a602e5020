// The kernels, compiled by NVRTC.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/library.h"

namespace c3sim::measure {

// A module for that architecture ("sm_90"), as the driver loads it.
std::vector<char> compile_for_cuda(const Library& nvrtc, const char* source, const std::string& architecture);

}  // namespace c3sim::measure
