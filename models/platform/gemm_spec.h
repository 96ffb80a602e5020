// The library's kernels for matrix products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// One row of the library's kernel table: taken by the first row whose bounds a shape respects.
struct GemmKernelSpec {
  std::string name;
  std::int64_t least_n = 0;     // the row applies to shapes of at least this n ...
  double least_n_over_m = 0.0;  // ... and at least this n / m
  int tile_m = 0;
  int tile_n = 0;
  int split_k = 1;               // workgroups that share the contraction of a tile and add up their parts
  bool persistent = false;       // only as many workgroups as fit, which divide all the work evenly (Stream-K)
  CuResources workgroup;         // what each needs of its CU
  double efficiency = 0.0;       // share of the matrix peak at the actual clock that a CU's workgroups reach
  double alone_share = 1.0;      // of that, what a workgroup reaches that has a CU for itself
  double oldest_share = 1.0;     // of that, what the oldest of several workgroups of a CU takes
  double time_spread = 0.0;      // of the times of a workgroup on different CUs: standard deviation over mean
  sim::Bytes in_flight;          // operands that one workgroup keeps under way
  std::int64_t l2_drift = 0;     // elements of k between the first and the last workgroup of an XCD
  std::int64_t cache_drift = 0;  // the same over the whole GPU; nobody asks where there is no Infinity Cache
};

// What a profiler saw of a GEMM that had the GPU to itself; it stands in for the estimate of the same.
struct GemmProfile {
  GemmShape shape;
  double efficiency = 0.0;  // in place of the kernel's: the one that gives the measured time
  // Read and written, over the whole GEMM.
  sim::Bytes l2;
  sim::Bytes cache;
  sim::Bytes hbm;
};

struct GemmSpec {
  double flops_per_cycle_per_cu = 0.0;
  std::vector<GemmKernelSpec> kernels;
  std::vector<GemmProfile> profiles;  // of shapes that have one

  static GemmSpec read(sim::Section section, const CuResources& cu);
};

}  // namespace c3sim::models
