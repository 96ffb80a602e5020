// The kernels, compiled by hipRTC.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/library.h"

namespace c3sim::measure {

// A code object for that architecture ("gfx942").
std::vector<char> compile_for_hip(const Library& hiprtc, const char* source, const std::string& architecture);

}  // namespace c3sim::measure
