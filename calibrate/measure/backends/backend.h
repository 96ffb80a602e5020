// The runtimes that this build has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// Throw GpuError where the driver is missing or finds no GPU. `folders` are searched for libraries first.
std::unique_ptr<Runtime> open_cuda(const std::vector<std::string>& folders);
std::unique_ptr<Runtime> open_hip(const std::vector<std::string>& folders);

}  // namespace c3sim::measure
