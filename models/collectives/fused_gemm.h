// A FusedSpec describes a GEMM that is fused with its collective, and a FusedGemm runs it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "models/machine/stream.h"
#include "models/machine/trigger.h"
#include "models/node.h"
#include "models/platform/collective_spec.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "sim/task.h"

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

// A FusedGemm runs a GEMM and the collective that it feeds, or that feeds it, as one: engines move a piece as soon as
// it is complete, and workgroups begin as soon as the piece of the operand that they need has arrived. Tokens (n) lie
// on the GPUs in equal shards, each in `pieces`. Tiles are computed in the order in which their pieces travel, a GPU's
// own shard last; for an all-gather it comes first. This follows T3 (arXiv 2401.16677) on a ring; on a mesh pieces go
// directly to each peer.
//
// If memory adds (gpu.memory.near_memory), what is reduced travels as updates. Otherwise the addends are stored next to
// each other, which only a direct exchange can do, and a kernel adds them in the end. An all-reduce needs memory that
// adds: a piece that is added up goes to all other GPUs at once, by the same trigger.
//
// A FusedGemm must be possible and outlive its run. Fused products that may run at the same time need different lanes,
// which are queues of each engine: in one queue a product's workgroups could wait on their CUs for pieces queued after
// those of another product, whose workgroups wait for these CUs.
class FusedGemm {
 public:
  FusedGemm(Node& node, FusedSpec spec, Stream stream, int lane = 0);
  ~FusedGemm();
  FusedGemm(const FusedGemm&) = delete;
  FusedGemm& operator=(const FusedGemm&) = delete;

  // Does what is not timed: queues the engines' commands after their POLLs. Commands that come after other operations
  // in their queues are submitted later, by processes of their own.
  sim::Task<> prepare();
  // Runs the timed part, from the host's first instruction to its knowledge that all data is in place.
  sim::Task<> run();
  // These return when the first piece was ready to travel, and when the host knew of the end of the GEMM.
  sim::Time exchange_began() const;
  sim::Time gemm_ended() const;

 private:
  class Sides;
  std::unique_ptr<Sides> sides_;
};

}  // namespace c3sim::models
