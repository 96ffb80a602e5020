// The run of a GEMM on a GPU: waves of workgroups, and what they ask of matrix pipes and caches.
#pragma once

#include "models/kernels/gemm_plan.h"
#include "models/machine/cu_mask.h"
#include "sim/task.h"

namespace c3sim::models {

class Gpu;
class Node;

// True if the kernel does fewer operations per byte beyond the L2 than the machine does per byte of HBM at peak (the
// definition of ConCCL, section III).
bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu);

// Runs the GEMM on one GPU, from its arrival at the dispatcher until its last workgroup has retired.
sim::Task<> run_gemm_kernel(Gpu& gpu, GemmShape shape, CuMask mask);

// Runs the same GEMM on every GPU, from the host's first instruction to the host's knowledge that all have finished.
sim::Task<> run_gemm(Node& node, GemmShape shape, CuMask mask);

}  // namespace c3sim::models
