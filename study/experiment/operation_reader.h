// Reads one operation of an experiment for a platform: its work, and where it may run. The section records faults.
#pragma once

#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_section.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Reads the work under the one key that names its kind (KindOfWork::key). Kernels may have `priority: low|normal|high`
// and `cus: [first, end]`, work that begins with a kernel `launch: queued|host`, and work that names no GPUs itself
// `gpus: [0, 1]`; Operation::gpus stays empty if all GPUs are named, or none.
Operation operation_in(sim::Section section, const models::PlatformSpec& platform);

std::vector<int> all_gpus(const models::PlatformSpec& platform);
// Returns the GPUs whose streams an operation is queued on: those that run it, and both ends of a copy.
std::vector<int> gpus_of(const Operation& operation, const models::PlatformSpec& platform);

}  // namespace c3sim::study
