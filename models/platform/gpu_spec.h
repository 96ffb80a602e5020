// What one GPU consists of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/dispatch_spec.h"
#include "models/platform/gemm_spec.h"
#include "models/platform/memory_spec.h"
#include "models/platform/power_spec.h"
#include "models/platform/sdma_spec.h"
#include "sim/units.h"

namespace c3sim::models {

// How kernels that go through arrays keep memory busy, by Little's law.
struct StreamSpec {
  static constexpr double piece_of_row = 1024.0;  // elements

  sim::Bytes in_flight;          // by a CU full of their waves: read and not yet there, or written and on the way
  sim::Bytes rows;               // the same of kernels that go row by row, for each such piece of a row
  sim::Time latency{0};          // of a step of their loop, beside that of the memory
  sim::Time reduction{0};        // of a step besides, where it reduces a row before it writes it, for each piece
  double least_row = 1.0;        // pieces for which a row takes that at least, however short it is
  double row_workgroups = 0.0;   // a row each, that a CU holds
  double pass_cycles = 0.0;      // of a CU, for a pass of a wave's loop beside its loads and stores
  double bytes_per_cycle = 0.0;  // that a CU loads and stores; 0: whatever the L2s give
  double queue_knee = 0.0;       // of Little's law where memory fills up: see Demand::queue_knee
  double knee = 0.0;             // of their roofline: see models::Bend
  double efficiency = 1.0;       // share of the vector peak that they reach
  sim::Time indexing{0};         // of a workgroup where it works out the place of each element in parts of arrays
};

// The library's kernels for attention: tiles of queries that go through the keys and values they see (Dao et al., arXiv
// 2205.14135), and few queries against a long cache (flash decoding). They are those of the platform, unless it names
// others, which differ in what is said of them.
struct AttentionSpec {
  std::string library;                 // whose kernels they are; empty: not named
  std::vector<std::string> libraries;  // the names of all
  int tile_queries = 0;                // of a workgroup's tile
  int tile_keys = 0;                   // that it takes in a step
  double efficiency = 0.0;             // share of the matrix peak that its products reach
  double vector_efficiency = 0.0;      // the same in a format that only vector units multiply
  double score_flops = 0.0;  // vector operations for each score, forward: scale, maximum, exponential, sum, conversion
  double backward_flops = 0.0;  // the same of the gradient
  // Besides where scores are dropped: random numbers, and masking.
  double dropout_flops = 0.0;
  double dropout_backward_flops = 0.0;  // they are drawn again
  double vector_dropout_flops = 0.0;    // the same in a format that only vector units multiply
  double vector_dropout_backward_flops = 0.0;
  double tile_cycles = 0.0;  // of a tile beside its steps: first loads, division by the sums, output
  // Whether a CU that is free gets the longest tile that is left, rather than tiles that were dealt out beforehand.
  bool next_free = false;
  sim::Time start{0};  // before and behind its tiles: other kernels of the call
  // Share of HBM's rate at which keys and values of new tokens are read and written into a cache before; 0: the call
  // does not do that.
  double append_share = 0.0;
  // HBM takes some time for the queries that a tile loads and the results that it stores: this is the share of that
  // time in which the CU of the tile does nothing else.
  double exposed = 0.0;
  int decode_rows = 0;        // of queries in a tile against a cache, however few there are: what matrix units multiply
  sim::Time decode_start{0};  // before and behind the stream of the cache: products, exponentials and sums in a row
  sim::Time decode_tile{0};   // of each tile that a CU has, the cache of one head and sequence or a part of it
  sim::Time decode_combine{0};  // where the context is split over workgroups: adding up their parts
};

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  double vector_flops_per_cycle_per_cu = 0.0;  // in single precision; 0: not known
  MemorySpec memory;                           // holds the number of XCDs
  StreamSpec streams;
  DispatchSpec dispatch;
  GemmSpec gemm;
  std::optional<AttentionSpec> attention;  // none: not described
  PowerSpec power;
  SdmaSpec sdma;

  int cus() const { return memory.xcds * cus_per_xcd; }
  // Workgroups of the kind that fit on that many CUs.
  int slots(int on_cus, const CuResources& workgroup) const { return on_cus * workgroups_that_fit(cu, workgroup); }
  // Of all CUs at the highest clock, in matrix operations per second; of a format that the platform has a rate for.
  double peak_flops(Dtype dtype = Dtype::bf16) const {
    return cus() * gemm.precision(dtype).value().flops_per_cycle_per_cu * power.highest_clock.value();
  }
  // All L2s load so many bytes in each cycle of the rated clock. Where their rate does not follow the clock, a faster
  // clock meets their bandwidth, which the network keeps.
  double l2_bytes_per_cycle() const { return (memory.l2_rate / power.rated_clock).value() * memory.xcds; }
};

}  // namespace c3sim::models
