// A FusedSpec describes a GEMM that is fused with its collective.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/machine/trigger.h"
#include "models/platform/collective_spec.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"

namespace c3sim::models {

enum class FusedPath {
  direct,  // each GPU sends every other its part; a round has a piece for each
  ring     // from neighbour to neighbour, shard after shard
};
constexpr auto all_names(FusedPath) { return sim::names("direct", "ring"); }
using sim::to_string;

struct FusedSpec {
  GemmShape gemm{};
  // reduce_scatter, all_reduce or all_to_all moves the GEMM's result; all_gather moves its operand B.
  CollectiveKind kind = CollectiveKind::reduce_scatter;
  FusedPath path = FusedPath::direct;
  TriggerChoice trigger{};
  bool stores = false;      // the GEMM itself stores its result at the first hop; engines do not copy it
  std::int64_t pieces = 1;  // pieces of each shard
  int gpus = 0;             // the first GPUs of the node take part; 0: all

  int gpus_of(int node) const { return gpus > 0 ? gpus : node; }
  bool gathers() const { return kind == CollectiveKind::all_gather; }
  bool all_reduces() const { return kind == CollectiveKind::all_reduce; }
  bool reduces() const { return kind == CollectiveKind::reduce_scatter || all_reduces(); }
  auto operator<=>(const FusedSpec&) const = default;
};

std::string to_string(const FusedSpec& spec);  // "gemm 8x8x8 fused with ring reduce_scatter, flag, 4 pieces a shard"

// Returns the same collective by itself, by the library's kernels, on a node of `gpus` GPUs.
CollectiveSpec collective_of(const FusedSpec& spec, int gpus);

// Returns a product whose result is reduced and scattered over the first `gpus` GPUs of a node with T3's tracker, in 8
// pieces a shard as in FiCCO, or fewer if it has too few tiles. On a mesh pieces go directly to peers. With memory that
// adds behind a switch they go around a ring, and the product itself stores the first hop.
FusedSpec by_tracker(const GemmShape& shape, int gpus, const PlatformSpec& platform);

// Returns whether a kernel (the product, or the one that adds up) ends the operation, so that hosts notice the end
// later than the GPUs.
bool ends_with_kernel(const FusedSpec& spec, const PlatformSpec& platform);

// Returns the bytes of an element of the result for sums: elements of fewer than 16 bits are kept in 16.
double sum_element(const FusedSpec& spec);

// Returns the size of a GPU's shard of the array that is gathered or scattered over `gpus` GPUs.
sim::Bytes shard_bytes(const FusedSpec& spec, int gpus);

// Returns why the node cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const FusedSpec& spec, const PlatformSpec& platform);

}  // namespace c3sim::models
