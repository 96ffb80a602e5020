// This models attention as one kernel of a GPU: softmax(Q K^T / sqrt(d)) V without the scores ever leaving the CUs (Dao
// et al., arXiv 2205.14135), its gradient, and attention of a few queries to a cache of keys and values (decoding).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kernels/kernel_run.h"
#include "models/platform/gemm_shape.h"
#include "sim/units.h"

namespace c3sim::models {

// AttentionShape is the part of one GPU. Groups of query heads share a key head: `heads` is a multiple of `kv_heads`.
struct AttentionShape {
  std::int64_t batch = 1;  // sequences
  std::int64_t heads = 1;  // query heads
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;   // per sequence
  std::int64_t keys = 1;      // per sequence, cached ones included
  std::int64_t head_dim = 1;  // elements of a query or key, and of a value unless value_dim says otherwise
  bool causal = true;         // the last query sees all keys, each query before it one key less
  bool backward = false;      // computes gradients of queries, keys and values, and the scores again
  bool dropout = false;       // random scores are dropped
  Dtype dtype = Dtype::bf16;
  std::int64_t value_dim = 0;    // elements of a value; 0: head_dim
  std::int64_t window = 0;       // if causal, the most keys that a query sees; 0: all
  bool shared_values = false;    // a value is the beginning of its key, as in latent attention: the cache has it once
  bool soft_cap = false;         // scores pass a hyperbolic tangent
  std::optional<Dtype> cache{};  // format of keys and values in memory; none: `dtype`
  sim::Bytes set{0.0};           // size of the arrays that repeated runs cycle through; 0: they find nothing in caches

  static constexpr std::int64_t largest_extent = std::int64_t{1} << 24;
  std::int64_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  // keys of a sequence that any of its queries sees
  std::int64_t keys_read() const { return causal && window > 0 ? std::min(keys, window + queries - 1) : keys; }
  // Returns the operations of the unmasked products of queries with keys and of scores with values. The gradient has
  // five such products instead of two.
  sim::Flops flops() const;
  // These return what must be read and written: queries, keys, values and results, and their gradients if `backward`.
  sim::Bytes read() const;
  sim::Bytes written() const;
  sim::Bytes arrays() const { return read() + written(); }
  // Returns whether there are too few queries for a tile, so that a workgroup goes through the cache for all query
  // heads of a key head at once.
  bool decodes() const { return !backward && queries <= 4 && (shared_values || queries * (heads / kv_heads) <= 64); }
  // Returns the format of the products. Libraries have no kernel for tf32 and use that for single precision.
  Dtype multiplied() const { return dtype == Dtype::tf32 ? Dtype::fp32 : dtype; }
  auto operator<=>(const AttentionShape&) const = default;
};

std::string to_string(const AttentionShape& shape);  // "8 x 1 queries, 1024 keys, 32 heads (8) of 128"

// Returns why the GPU cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const AttentionShape& shape, const GpuSpec& gpu);

// `gpu` must have an AttentionSpec.
Kernel attention_kernel(const GpuSpec& gpu, const AttentionShape& shape, const Stream& stream = {});

// Runs it on `gpus` (all if empty) from the host's first instruction to its knowledge that all have finished.
sim::Task<> run_attention(Node& node, AttentionShape shape, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
