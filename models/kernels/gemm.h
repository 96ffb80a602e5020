// A GEMM as a kernel: how many workgroups, and what they ask of matrix pipes and caches.
#pragma once

#include <vector>

#include "models/kernels/gemm_plan.h"
#include "models/kernels/kernel_run.h"
#include "sim/task.h"

namespace c3sim::models {

class Gpu;
class Node;

// True if the kernel does fewer operations per byte beyond the L2 than the machine does per byte of HBM at peak (the
// definition of ConCCL, section III).
bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu);

// The GEMM as a kernel of one GPU. `gpu` must outlive its run.
Kernel gemm_kernel(const GpuSpec& gpu, const GemmShape& shape, const Stream& stream = {});

// Runs the same GEMM on these GPUs, or on every one where none is named, from the host's first instruction to the
// host's knowledge that all have finished.
sim::Task<> run_gemm(Node& node, GemmShape shape, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
