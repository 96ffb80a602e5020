// A GEMM and its collective as one, as it is asked for.
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
  direct,  // each GPU sends to every other what that one is due; a round has a piece for each
  ring     // from neighbour to neighbour, shard after shard
};
constexpr auto all_names(FusedPath) { return sim::names("direct", "ring"); }
using sim::to_string;

struct FusedSpec {
  GemmShape gemm;
  // Or all_reduce or all_to_all of its result; all_gather of its operand B.
  CollectiveKind kind = CollectiveKind::reduce_scatter;
  FusedPath path = FusedPath::direct;
  TriggerChoice trigger{};
  bool stores = false;      // the first hop of its result is stored by the GEMM itself, not copied by engines
  std::int64_t pieces = 1;  // of each shard
  int gpus = 0;             // the first of the node take part; 0: all of it

  int gpus_of(int node) const { return gpus > 0 ? gpus : node; }
  bool gathers() const { return kind == CollectiveKind::all_gather; }
  bool all_reduces() const { return kind == CollectiveKind::all_reduce; }
  bool reduces() const { return kind == CollectiveKind::reduce_scatter || all_reduces(); }
  auto operator<=>(const FusedSpec&) const = default;
};

std::string to_string(const FusedSpec& spec);  // "gemm 8x8x8 fused with ring reduce_scatter, flag, 4 pieces a shard"

// The collective by itself, by the library's kernels, on a node of so many GPUs.
CollectiveSpec collective_of(const FusedSpec& spec, int gpus);

// A product whose result is reduced and scattered over the first GPUs of a node, as T3 has it: by a tracker, in 8
// pieces a shard as FiCCO, or as many as a small one has tiles for; directly on a mesh, and where memory adds, on the
// one port of a switch, around, the first hop stored by the product itself.
FusedSpec by_tracker(const GemmShape& shape, int gpus, const PlatformSpec& platform);

// Whether a kernel is the last of it, whose end hosts notice later than its GPUs: the product itself, or what adds up.
bool ends_with_kernel(const FusedSpec& spec, const PlatformSpec& platform);

// Bytes of an element of its result where results are added up: fewer than 16 bits are kept in 16.
double sum_element(const FusedSpec& spec);

// Of the array that is gathered or scattered over so many GPUs.
sim::Bytes shard_bytes(const FusedSpec& spec, int gpus);

// Why the node cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const FusedSpec& spec, const PlatformSpec& platform);

}  // namespace c3sim::models
