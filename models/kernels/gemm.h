// This models a GEMM as a kernel: the number of workgroups, and what they need of matrix pipes and caches.
#pragma once

#include <vector>

#include "models/kernels/gemm_plan.h"
#include "models/kernels/kernel_run.h"
#include "sim/task.h"

namespace c3sim::models {

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
