// Compiles the kernels where they run, by NVRTC or hipRTC, which have the same calls under other names.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/backends/gpu_calls.h"

namespace c3sim::measure {

// A module of device/kernels.cu for that architecture ("sm_90", "gfx942"). GpuError with the compiler's log.
std::vector<char> compile_kernels(Vendor vendor, const Library& compiler, const std::string& architecture);

}  // namespace c3sim::measure
