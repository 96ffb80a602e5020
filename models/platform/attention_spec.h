// The library's kernels for attention: tiles of queries that go through the keys and values they see (Dao et al., arXiv
// 2205.14135), and few queries against a long cache (flash decoding).
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// The kernels of one library: those of the platform, unless it names others, which differ in what is said of them.
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

  static AttentionSpec read(sim::Section section);
};

}  // namespace c3sim::models
