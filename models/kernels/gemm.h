// This models a GEMM as a kernel: the number of workgroups, and what they need of matrix pipes and caches.
#pragma once

#include <vector>

#include "models/kernels/demand.h"
#include "models/kernels/gemm_plan.h"
#include "models/kernels/kernel_run.h"
#include "models/machine/memory.h"
#include "sim/task.h"

namespace c3sim::models {

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
  GemmTraffic on(const Footing& footing) const;
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
