// Matrix products by tiles: which library kernel a shape gets, what its waves of workgroups ask of matrix pipes and
// caches, and the run of one on a GPU. Traffic follows from how many resident tiles share a panel of A or B, and how
// far they have drifted apart along k when they read it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/cache_sharing.h"
#include "models/cu_mask.h"
#include "models/gemm_shape.h"
#include "models/kernel.h"
#include "models/memory.h"
#include "sim/config.h"

namespace models {

class Gpu;

// One row of the library's kernel table: taken by the first row whose bounds a shape respects.
struct GemmKernelSpec {
  std::string name;
  std::int64_t least_n = 0;     // the row applies to shapes of at least this n ...
  double least_n_over_m = 0.0;  // ... and at least this n / m
  int tile_m = 0;
  int tile_n = 0;
  int workgroups_per_cu = 1;
  double efficiency = 0.0;       // share of the matrix peak at the actual clock that a CU's workgroups reach
  double alone_share = 1.0;      // of that, what a workgroup reaches that has a CU for itself
  double oldest_share = 1.0;     // of that, what the oldest of several workgroups of a CU takes
  sim::Bytes in_flight;          // operands that one workgroup keeps under way
  std::int64_t l2_drift = 0;     // elements of k between the first and the last workgroup of an XCD
  std::int64_t cache_drift = 0;  // the same over the whole GPU
};

struct GemmSpec {
  double flops_per_cycle_per_cu = 0.0;
  double reuse_sharpness = 0.0;  // how abruptly reuse is lost when a window outgrows its cache
  std::vector<GemmKernelSpec> kernels;

  static GemmSpec read(sim::Section section);
};

// A shape with the kernel chosen for it.
struct GemmPlan {
  GemmShape shape;
  GemmKernelSpec kernel;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;

  std::int64_t workgroups() const { return tiles_m * tiles_n; }
  double workgroup_flops() const;  // of a full tile, padding included
};
GemmPlan plan_gemm(const GemmSpec& spec, const GemmShape& shape);

// Bytes per operation of resident workgroups at each level.
struct GemmTraffic {
  double l2 = 0.0;
  Traffic beyond_l2;
};
// `residents` workgroups of the plan on each XCD (0 for one that has none) hold `l2_share` and `cache_share` of the
// caches.
GemmTraffic gemm_traffic(const GemmPlan& plan, const GemmSpec& spec, const MemorySpec& memory,
                         std::span<const int> residents, double l2_share, double cache_share);

// True if the kernel does fewer operations per byte beyond the L2 than the machine does per byte of HBM at peak (the
// definition of ConCCL, section III).
bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu);

// Runs the GEMM on one GPU, from its arrival at the dispatcher until its last workgroup has retired.
sim::Task<> run_gemm_kernel(Gpu& gpu, GemmShape shape, CuMask mask);

}  // namespace models
