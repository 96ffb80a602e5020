// What one operation of an experiment says of itself, read for a platform: its work, and where it may run. What is
// wrong is recorded with the section.
#pragma once

#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_section.h"
#include "study/program/operation.h"

namespace c3sim::study {

// The work under the one key that names its kind (KindOfWork::key), and where it may run: `priority: low|normal|high`
// and `cus: [first, end]`, of kernels alone, and `gpus: [0, 1]`, empty where it names none, or all. How it is launched:
// `launch: queued|host`, of what begins with a kernel.
Operation operation_in(sim::Section section, const models::PlatformSpec& platform);

std::vector<int> all_gpus(const models::PlatformSpec& platform);
// The GPUs whose streams an operation is queued on: those that do it, and of a copy both its ends.
std::vector<int> gpus_of(const Operation& operation, const models::PlatformSpec& platform);

}  // namespace c3sim::study
