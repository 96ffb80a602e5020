// A GpuSpec describes the parts of one GPU.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/gemm_spec.h"
#include "models/platform/memory_spec.h"
#include "models/platform/power_spec.h"
#include "models/platform/sdma_spec.h"
#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

// A StreamSpec describes how kernels that stream through arrays keep memory busy, by Little's law.
struct StreamSpec {
  static constexpr double piece_of_row = 1024.0;  // elements

  sim::Bytes in_flight{};        // bytes that a CU full of waves has in flight, read or written
  sim::Bytes rows{};             // bytes that kernels which work row by row have in flight per piece of a row
  sim::Time latency{0};          // latency of a step of the loop, in addition to that of the memory
  sim::Time reduction{0};        // extra time of a step per piece, if the kernel reduces a row before it writes it
  double least_row = 1.0;        // least number of pieces that a reduced row counts as
  double row_workgroups = 0.0;   // number of workgroups that a CU holds, each with a row
  double pass_cycles = 0.0;      // cycles of a CU per pass of a wave's loop, in addition to its loads and stores
  double bytes_per_cycle = 0.0;  // bytes that a CU loads and stores per cycle; 0: limited by the L2s only
  double queue_knee = 0.0;       // bend of Little's law as memory saturates: see Demand::queue_knee
  double knee = 0.0;             // bend of the roofline: see models::Bend
  double efficiency = 1.0;       // share of the vector peak that the kernels reach
  sim::Time indexing{0};         // time of a workgroup that computes the position of each element in strided arrays
};

// An AttentionSpec describes the library's kernels for attention: tiles of queries that go through the keys and values
// that they attend to (Dao et al., arXiv 2205.14135), and few queries against a long cache (flash decoding). If a
// platform file has rows of `libraries`, the row of the library in use overrides the common values.
struct AttentionSpec {
  std::string library;                 // name of the library in use; empty if the platform names none
  std::vector<std::string> libraries;  // names of all libraries
  int tile_queries = 0;                // queries of a workgroup's tile
  int tile_keys = 0;                   // keys that a tile takes per step
  double efficiency = 0.0;             // share of the matrix peak that the products reach
  double vector_efficiency = 0.0;      // share of the peak in a format that only vector units multiply
  double score_flops = 0.0;     // forward vector operations per score: scale, maximum, exponential, sum, conversion
  double backward_flops = 0.0;  // vector operations per score of the backward pass
  // Dropout adds these operations per score for random numbers and masking.
  double dropout_flops = 0.0;
  double dropout_backward_flops = 0.0;  // includes drawing the random numbers again
  double vector_dropout_flops = 0.0;    // the operations in a format that only vector units multiply
  double vector_dropout_backward_flops = 0.0;
  double tile_cycles = 0.0;  // cycles of a tile in addition to its steps: first loads, division by the sums, output
  // Lets a free CU take the longest remaining tile; otherwise tiles are dealt out in advance.
  bool next_free = false;
  sim::Time start{0};  // time of other kernels of the call, before and after the tiles
  // Keys and values of new tokens are read and appended to a cache beforehand at this share of the HBM rate; 0: the
  // call does not append.
  double append_share = 0.0;
  // The CU of a tile is idle for this share of the time that HBM takes for the tile's queries and results.
  double exposed = 0.0;
  int decode_rows = 0;          // least rows of queries in a tile against a cache: the granularity of matrix units
  sim::Time decode_start{0};    // time around the stream of the cache: dependent products, exponentials and sums
  sim::Time decode_tile{0};     // time per tile of a CU, which is the cache of one head and sequence or a part of it
  sim::Time decode_combine{0};  // time to add up the parts of a context that is split over workgroups
};

// A DispatchSpec describes how workgroups of queued kernels reach the CUs.
// The policy decides which of several queues of equal priority an XCD serves.
enum class DispatchPolicy {
  oldest_first,  // the kernel that was queued first, until its last workgroup is placed
  rotation       // like oldest_first, but a queue passes its turn on after a quantum
};
constexpr auto all_names(DispatchPolicy) { return sim::names("oldest_first", "rotation"); }

struct DispatchSpec {
  DispatchPolicy policy = DispatchPolicy::oldest_first;
  sim::Time quantum{0};           // rotation: how long a queue keeps its turn while others wait
  sim::Time workgroup_launch{0};  // time from the decision to place a cohort to its first instruction
  // An XCD has this many shader engines. Workgroups go to them in turn, to each as often as it has CUs; one that is due
  // at a full engine blocks those after it (Otterness and Anderson, RTNS 2021, section 4).
  int shader_engines = 1;
};

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  double vector_flops_per_cycle_per_cu = 0.0;  // single-precision rate; 0: unknown
  MemorySpec memory;                           // includes the number of XCDs
  StreamSpec streams;
  // Cycles of a vector lane for each element of an operator's result, by the name of the operator.
  std::map<std::string, double, std::less<>> operator_cycles;
  DispatchSpec dispatch;
  GemmSpec gemm;
  std::optional<AttentionSpec> attention;  // none: not described
  PowerSpec power;
  SdmaSpec sdma;

  int cus() const { return memory.xcds * cus_per_xcd; }
  // Returns the lanes of a CU's vector units, each of which does a fused multiply-add, two operations, in a cycle.
  double vector_lanes() const { return 0.5 * vector_flops_per_cycle_per_cu; }
  // Returns how many workgroups of this kind fit on `on_cus` CUs.
  int slots(int on_cus, const CuResources& workgroup) const { return on_cus * workgroups_that_fit(cu, workgroup); }
  // Returns the matrix operations per second of all CUs at the highest clock. The platform has a rate for `dtype`.
  double peak_flops(Dtype dtype = Dtype::bf16) const {
    return cus() * gemm.precision(dtype).value().flops_per_cycle_per_cu * power.highest_clock.value();
  }
  // Returns the bytes that all L2s load per cycle of the rated clock. If their rate does not follow the clock, the
  // resource network limits a faster clock to their bandwidth.
  double l2_bytes_per_cycle() const { return (memory.l2_rate / power.rated_clock).value() * memory.xcds; }
};

}  // namespace c3sim::models
