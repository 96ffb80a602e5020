// Reads measured GEMMs: a profile of a kernel that had a GPU to itself replaces the model's estimate for that GEMM.
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
// Finds for each profile the matrix efficiency at which the kernel, simulated alone on the platform, takes its time.
// Throws sim::ConfigError with all faults: missing levels, fewer bytes than the product must move, more bytes at a
// level than at the previous one, a time in which the platform could not move the bytes or do the work.
std::vector<models::GemmProfile> read_gemm_profiles(sim::Config config, const models::PlatformSpec& platform);

}  // namespace c3sim::study
