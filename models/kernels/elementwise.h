// An element-wise kernel goes through arrays once: it reads some bytes, writes some, and does some vector operations on
// the way. With no operations it is the streaming benchmark that memory rates are measured with.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "models/kernels/kernel_run.h"
#include "sim/units.h"

namespace c3sim::models {

// ElementwiseSpec is the work of one GPU.
struct ElementwiseSpec {
  static constexpr std::int64_t usual_row = 4096;

  sim::Bytes read{};
  sim::Bytes written{};
  sim::Flops flops{};
  int workgroups = 0;            // each takes half a CU, 1024 of 2048 threads; 0: a workgroup that fills it on every CU
  bool reduces = false;          // reads, reduces and writes a row at a time, as norms do
  std::int64_t row = usual_row;  // elements of a row, if it reduces
  double width = 1.0;            // speed of reducing a row, relative to a framework's norms
  sim::Bytes under_way{0.0};     // per workgroup, at most what its CU can; 0: as library kernels
  int threads = 0;               // per workgroup, each with `access` under way; 0: as library kernels
  sim::Bytes access{0.0};        // bytes that a thread loads and stores in a pass of its loop
  sim::Bytes set{0.0};           // size of the arrays that repeated runs cycle through; 0: they find nothing in caches
  bool chases = false;           // each load needs the result of the one before as its address
  bool strided = false;          // the address of each element is computed, as in slices of arrays
  std::string operation{};       // name of its operator, of which the platform may know what an element takes
  double elements = 0.0;         // elements of that operator's result

  sim::Bytes bytes() const { return read + written; }
  auto operator<=>(const ElementwiseSpec&) const = default;
};

// Returns the cycles of a vector lane that all its instructions take: those that the platform has for its operator, or
// else one for every two operations, as of fused multiply-adds.
double lane_cycles(const ElementwiseSpec& spec, const GpuSpec& gpu);

std::string to_string(const ElementwiseSpec& spec);  // "2GiB read, 1GiB written, 1.07e+09 operations"

// Returns why the GPU cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const ElementwiseSpec& spec, const GpuSpec& gpu);

// Returns the kernel. It finds nothing in caches unless it has a `set`. What a workgroup has under way bounds its rate
// if workgroups are few, and is its weight when others use the memory.
Kernel elementwise_kernel(const GpuSpec& gpu, const ElementwiseSpec& spec, const Stream& stream = {});

// Runs it on `gpus` (all if empty) from the host's first instruction to its knowledge that all have finished.
sim::Task<> run_elementwise(Node& node, ElementwiseSpec spec, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
