// A kernel that goes through arrays once: reads some bytes, writes some, and does some vector operations on the way.
// With no operations it is the streaming benchmark that memory rates are measured with.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "models/kernels/kernel_run.h"
#include "sim/units.h"

namespace c3sim::models {

// On each of its GPUs.
struct ElementwiseSpec {
  sim::Bytes read;
  sim::Bytes written;
  sim::Flops flops;
  int workgroups = 0;         // of half a CU each, 1024 threads where a CU holds 2048; 0: one that fills it on every CU
  bool reduces = false;       // a row at a time: it is read, reduced to numbers and written, as norms do
  std::int64_t row = 4096;    // elements of one, where it reduces
  double width = 1.0;         // elements of a row that it reduces while norms of a framework reduce one
  sim::Bytes under_way{0.0};  // by such a workgroup, as far as its CU can; 0: what kernels of libraries have
  int threads = 0;            // of a workgroup, each with `access` under way; 0: what kernels of libraries have
  sim::Bytes access{0.0};     // that a thread loads and stores in a pass of its loop
  sim::Bytes set{0.0};   // arrays that it goes through turn after turn, of which caches hold what they can; 0: once
  bool chases = false;   // the address of each load is what the one before it has brought
  bool strided = false;  // the place of each element is worked out, as in parts of arrays

  sim::Bytes bytes() const { return read + written; }
  auto operator<=>(const ElementwiseSpec&) const = default;
};

std::string to_string(const ElementwiseSpec& spec);  // "2GiB read, 1GiB written, 1.07e+09 operations"

// Why no machine runs it, in one sentence that says what would be accepted; empty if one does.
std::string why_impossible(const ElementwiseSpec& spec, const GpuSpec& gpu);

// Nothing of the arrays is in a cache, unless it has a `set`. What a workgroup has under way bounds its rate where they
// are few, and is its weight where others use the memory.
Kernel elementwise_kernel(const GpuSpec& gpu, const ElementwiseSpec& spec, const Stream& stream = {});

// On these GPUs, or on every one where none is named: from the host's first instruction to its knowledge that all GPUs
// have finished.
sim::Task<> run_elementwise(Node& node, ElementwiseSpec spec, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
