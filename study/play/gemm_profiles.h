// Measured GEMMs: what a profiler saw of kernels that had a GPU to themselves stands in for the estimate of the same.
#pragma once

#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config.h"

namespace c3sim::study {

// Reads profiles, each with the kernel's time and the bytes read and written at each level:
//
//   profiles:
//     - gemm: 8192x8192x8192
//       time: 1650 us
//       l2: 14 GB
//       infinity_cache: 2.1 GB
//       hbm: 0.9 GB
//       source: rocprofv3, ROCm 6.4
//
// and finds for each the matrix efficiency at which the kernel, simulated alone on the platform, takes that time.
// Throws sim::ConfigError with all faults: levels that are missing, fewer bytes than the product must move, more at a
// level than at the one before it, a time in which the platform could not move the bytes or do the work.
std::vector<models::GemmProfile> read_gemm_profiles(sim::Config config, const models::PlatformSpec& platform);

}  // namespace c3sim::study
