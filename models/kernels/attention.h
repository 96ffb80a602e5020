// Attention as one kernel of a GPU: softmax(Q K^T / sqrt(d)) V without the scores ever leaving the CUs (Dao et al.,
// arXiv 2205.14135), its gradient, and the same of a few queries against a cache.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kernels/kernel_run.h"
#include "models/platform/dtype.h"
#include "sim/units.h"

namespace c3sim::models {

// On each of its GPUs. Heads that share keys and values are grouped: `heads` is a multiple of `kv_heads`.
struct AttentionShape {
  std::int64_t batch = 1;  // sequences
  std::int64_t heads = 1;  // of queries
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;   // of each sequence
  std::int64_t keys = 1;      // of each sequence, cached ones included
  std::int64_t head_dim = 1;  // elements of a query or key, and of a value unless value_dim says otherwise
  bool causal = true;         // the last query sees all keys, each one before it one key less
  bool backward = false;      // gradients of queries, keys and values, scores computed again
  bool dropout = false;       // some scores, drawn at random, do not count
  Dtype dtype = Dtype::bf16;
  std::int64_t value_dim = 0;    // elements of a value; 0: as many as of a key
  std::int64_t window = 0;       // keys that a query sees at most where each sees those before it; 0: all
  bool shared_values = false;    // a value is the beginning of its key, as in latent attention: the cache has it once
  bool soft_cap = false;         // scores pass a hyperbolic tangent
  std::optional<Dtype> cache{};  // format of keys and values in memory; none: that of the products
  sim::Bytes set{0.0};  // arrays gone through turn after turn, of which caches hold what they can; 0: others every time

  static constexpr std::int64_t largest_extent = std::int64_t{1} << 24;
  std::int64_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  std::int64_t keys_read() const;  // of each sequence: those that any of its queries sees
  // Products of queries with keys that count, and of scores with values; those of the gradient are five for two.
  sim::Flops flops() const;
  // What must be read and written: queries, keys, values and results, and of the gradient theirs.
  sim::Bytes read() const;
  sim::Bytes written() const;
  sim::Bytes arrays() const { return read() + written(); }
  // Whether a workgroup has too few queries for a tile, so that it goes through the cache with all that share a head of
  // keys at once.
  bool decodes() const { return !backward && queries <= 4 && (shared_values || queries * (heads / kv_heads) <= 64); }
  // What its products are computed in. Libraries have no kernel for tf32: they take that for single precision.
  Dtype multiplied() const { return dtype == Dtype::tf32 ? Dtype::fp32 : dtype; }
  auto operator<=>(const AttentionShape&) const = default;
};

std::string to_string(const AttentionShape& shape);  // "8 x 1 queries, 1024 keys, 32 heads (8) of 128"

// Why no machine runs it, in one sentence that says what would be accepted; empty if one does.
std::string why_impossible(const AttentionShape& shape, const GpuSpec& gpu);

// `gpu` must have an AttentionSpec.
Kernel attention_kernel(const GpuSpec& gpu, const AttentionShape& shape, const Stream& stream = {});

// On these GPUs, or on every one where none is named: from the host's first instruction to its knowledge that all GPUs
// have finished.
sim::Task<> run_attention(Node& node, AttentionShape shape, Stream stream = {}, std::vector<int> gpus = {});

}  // namespace c3sim::models
