// This models a GEMM as a kernel: the number of workgroups, and what they need of matrix pipes and caches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/kernels/demand.h"
#include "models/kernels/kernel_run.h"
#include "models/machine/memory.h"
#include "models/platform/cu_resources.h"
#include "models/platform/gpu_spec.h"
#include "sim/task.h"

namespace c3sim::models {

// A GemmPlan says which library kernel a shape gets, how it cuts the product into pieces, and how long a CU takes for
// one.
struct GemmPlan {
  GemmShape shape;
  GemmKernelSpec kernel;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  int grouped_rows = 0;          // see GemmLibrary
  std::int64_t l2_drift = 0;     // see GemmLibrary
  std::int64_t cache_drift = 0;  // see GemmLibrary
  int per_cu = 1;                // workgroups that fit a CU together
  double efficiency = 0.0;       // share of the matrix peak at the actual clock that a full CU reaches
  double cycles = 0.0;           // time of a full, undisturbed CU for one piece per workgroup
  double around = 0.0;           // share of `cycles` outside the loop along k: first loads, output
  double l2_conflicts = 1.0;     // factor on the bytes of a piece at the L2, for conflicts
  double alone_share = 1.0;      // share of `efficiency` that a workgroup reaches alone on a CU
  bool tuned = false;            // the library's table has this very size
  bool warm = false;             // caches hold its operands from a run before
  sim::Bytes in_flight;          // operands that a workgroup keeps under way
  std::optional<GemmProfile> profile;

  // A piece is a tile or, if its contraction is split, the part of one workgroup.
  std::int64_t pieces() const { return shape.products * tiles_m * tiles_n * kernel.split_k; }
  double piece_k() const { return static_cast<double>(shape.k) / kernel.split_k; }
  // Returns the elements of A and B that a workgroup loads from the L2 for each element of k. A cluster that reaches
  // beyond the product shares loads only among its real tiles.
  double loaded() const;
  // operations, padding included
  double piece_flops() const { return 2.0 * kernel.tile_m * kernel.tile_n * piece_k(); }
  double piece_writes() const;  // bytes of the result
  // bytes of the result that are read if the parts of a tile are added up
  double piece_reads() const { return kernel.split_k == 1 ? 0.0 : piece_writes(); }
  // bytes of result and operands
  double piece_l2_bytes() const { return shape.element() * piece_k() * loaded() + piece_reads() + piece_writes(); }
};

// Returns how many pieces are outside their loop along k, and so being stored, at a time on `cus` full CUs.
std::int64_t stored_at_once(const GemmPlan& plan, const GpuSpec& gpu, int cus);

// Returns the time before the first workgroup, twice if the parts of a contraction are added up.
sim::Time start_up_of(const GemmLibrary& library, const GemmKernelSpec& kernel);

// Plans the product with the kernel of the nearest size that the library was tuned for, by the Euclidean distance of m,
// n and k, as rocBLAS does. A library that chooses by modelled time takes the kernel tuned for this very size,
// otherwise the one with the fewest cycles. `first_loads` is the share of all loads beyond the L2s that miss the
// Infinity Cache whatever it can hold; 0 if A and B are there already as far as they fit. A library that is told of the
// CUs in `mask` (GemmLibrary::told_cus) chooses for these, any other one for all.
GemmPlan plan_gemm(const GpuSpec& gpu, const GemmShape& shape, CuMask mask = {}, double first_loads = 0.0);

// GemmTraffic holds bytes per operation of resident workgroups at each level. It is estimated from how many resident
// tiles share a panel of A or B, and how far they have drifted apart along k when they read it.
struct GemmTraffic {
  double l2 = 0.0;
  Traffic beyond_l2;

  double beyond_l2_bytes() const { return beyond_l2.reads + beyond_l2.writes; }
  double hbm_bytes() const { return beyond_l2_bytes() * (1.0 - beyond_l2.cache_hits); }
};

GemmTraffic estimate_traffic(const GemmPlan& plan, const MemorySpec& memory, const Footing& footing);

// GemmTrafficModel gives the traffic of one plan on one machine: estimate(footing) without a profile, measured bytes x
// estimate(footing) / estimate(undisturbed) with one.
class GemmTrafficModel {
 public:
  // A kernel with all CUs to itself has `slots_per_xcd` workgroups on each XCD, `per_cu` of them on a CU.
  GemmTrafficModel(const GemmPlan& plan, const MemorySpec& memory, int slots_per_xcd, double per_cu);

  const GemmPlan& plan() const { return plan_; }
  // Returns the traffic of a kernel with all CUs and caches to itself.
  const GemmTraffic& undisturbed() const { return undisturbed_; }
  GemmTraffic on(const Footing& footing) const { return correct(estimate_traffic(plan_, memory_, footing)); }
  // Returns the share of all loads of operands beyond the L2s that are the first of their line.
  double first_loads() const;

 private:
  GemmTraffic correct(const GemmTraffic& estimated) const;

  GemmPlan plan_;
  const MemorySpec& memory_;
  GemmTraffic estimated_;  // the estimate of the undisturbed kernel
  GemmTraffic undisturbed_;
};

class Gpu;
class Node;

// Returns whether the kernel does fewer operations per byte beyond the L2 than the machine does per byte of HBM at peak
// (the definition of ConCCL, section III).
bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu);

// Returns the GEMM as a kernel of one GPU. `gpu` must outlive its run.
Kernel gemm_kernel(const GpuSpec& gpu, const GemmShape& shape, const Stream& stream = {});

// Runs it on `gpus` (all if empty) from the host's first instruction to its knowledge that all have finished.
sim::Task<> run_gemm(Node& node, GemmShape shape, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
