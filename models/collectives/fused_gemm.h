// A GEMM and the collective that it feeds, or that feeds it, as one: engines move a piece as soon as it is complete,
// and workgroups begin as soon as the piece of the operand is there that they need. Tokens (n) lie on the GPUs in equal
// shards, each in `pieces`; tiles are computed in the order in which their pieces travel, a GPU's own shard last, or,
// of what is gathered, first. After T3 (arXiv 2401.16677) on a ring, and directly to each peer on a mesh.
//
// Where memory adds (gpu.memory.near_memory) what is reduced travels as updates; else it is put beside each other,
// which only a direct exchange can, and a kernel adds it up in the end.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/memory_word.h"
#include "models/machine/stream.h"
#include "models/machine/trigger.h"
#include "models/node.h"
#include "models/platform/collective_spec.h"
#include "models/platform/gemm_shape.h"
#include "models/sdma/completion_signal.h"
#include "sim/gate.h"
#include "sim/task.h"

namespace c3sim::models {

enum class FusedPath {
  direct,  // each GPU sends to every other what that one is due; a round has a piece for each
  ring     // from neighbour to neighbour, shard after shard
};
std::string_view to_string(FusedPath path);

struct FusedSpec {
  GemmShape gemm;
  CollectiveKind kind = CollectiveKind::reduce_scatter;  // or all_to_all of its result; all_gather of its operand B
  FusedPath path = FusedPath::direct;
  TriggerChoice trigger{};
  bool stores = false;      // the first hop of its result is stored by the GEMM itself, not copied by engines
  std::int64_t pieces = 1;  // of each shard
  int gpus = 0;             // the first of the node take part; 0: all of it

  int gpus_of(int node) const { return gpus > 0 ? gpus : node; }
  bool gathers() const { return kind == CollectiveKind::all_gather; }
  auto operator<=>(const FusedSpec&) const = default;
};

std::string to_string(const FusedSpec& spec);  // "reduce_scatter of gemm 8x8x8 by ring, tracker, 4 pieces a shard"

// The collective by itself, by the library's kernels, on a node of so many GPUs.
CollectiveSpec collective_of(const FusedSpec& spec, int gpus);

// A product whose result is reduced and scattered over the first GPUs of a node, as T3 has it: by a tracker, in 8
// pieces a shard as FiCCO, or as many as a small one has tiles for; directly on a mesh, and where memory adds, on the
// one port of a switch, around, the first hop stored by the product itself.
FusedSpec by_tracker(const GemmShape& shape, int gpus, const PlatformSpec& platform);

// Whether a kernel is the last of it, whose end hosts notice later than its GPUs: the product itself, or what adds up.
bool ends_with_kernel(const FusedSpec& spec, const PlatformSpec& platform);

// Why the node cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const FusedSpec& spec, const PlatformSpec& platform);

// What every GPU sends: a piece, once it has it, to a peer, for which it is part of the piece `there`.
struct FusedTransfer {
  std::int64_t piece;  // -1: what it has from the start
  int distance;        // of the peer behind the GPU
  std::int64_t there;
  bool arrives_first;  // it passes on what must arrive before
};

// Must be possible, and outlive its run.
class FusedGemm {
 public:
  FusedGemm(Node& node, FusedSpec spec, Stream stream);
  FusedGemm(const FusedGemm&) = delete;
  FusedGemm& operator=(const FusedGemm&) = delete;

  // What is not timed: queues the engines' commands behind what they wait for.
  sim::Task<> prepare();
  // From the host's first instruction to its knowledge that all is where it is due.
  sim::Task<> run();
  // When the first piece was there to travel; when the host knew of the end of the GEMM.
  sim::Time exchange_began() const;
  sim::Time gemm_ended() const { return gemm_ended_; }

 private:
  struct Piece {
    std::int64_t tiles = 0;
    std::int64_t own = 0;     // of these, computed by this GPU
    std::int64_t stored = 0;  // of these, those that are in the peer's memory, where the GEMM stores them there
    int arrived = 0;          // transfers
    int due = 0;              // that arrive in all
    bool passes_on = false;   // what arrives goes further
    bool untracked = false;   // the tracker had no entry left: it counts when the kernel has ended
    std::int64_t withheld = 0;
    sim::Time there = sim::Time::max();  // since when it, or with stores its first tile, may travel
    std::unique_ptr<MemoryWord> word;    // what its transfer waits for: tiles computed, and arrivals that are passed on
  };
  // One GPU.
  struct Side {
    int gpu = 0;
    // In the order of their tiles; of what is gathered those that arrive, the pieces of a round together.
    std::vector<Piece> pieces;
    bool kernel_ended = false;
    std::unique_ptr<MemoryWord> gathered;  // how many of these are there
    std::unique_ptr<sim::Latch> arrivals;
    std::vector<std::unique_ptr<CompletionSignal>> completions;
  };

  Side& side(int gpu) { return *sides_[static_cast<std::size_t>(gpu < node_.simulated() ? gpu : 0)]; }
  void add_side(int gpu);
  Stream stream_on(Side& side);
  TransferCommand command_of(int gpu, const FusedTransfer& transfer);
  bool is_stored(const FusedTransfer& transfer) const;  // rather than copied by an engine
  sim::Task<> queue_commands(Side& side, int distance, std::map<int, int>& used_queues);
  sim::Task<> run_kernel_on(Side& side, sim::Latch& ended);
  sim::Task<> see_completions(Side& side, sim::Latch& seen);
  void retire(const KernelProgress& progress);
  void count(Side& side, Piece& piece, std::int64_t more);
  void notify(Piece& piece, std::int64_t more);
  std::int64_t entries_used(const Side& side) const;
  void arrive(int gpu, const FusedTransfer& transfer);
  sim::Task<> store(Side& side, FusedTransfer transfer, std::int64_t tiles);

  Node& node_;
  FusedSpec spec_;
  int gpus_;
  Stream stream_;
  Trigger trigger_;
  std::int64_t tiles_;    // of the GEMM
  std::int64_t storing_;  // of those that are computed at once, which are being stored
  std::vector<FusedTransfer> transfers_;
  std::deque<std::pair<int, const FusedTransfer*>> arrivals_;  // that engines tell of: where, of what
  MemoryWord release_;                                         // what is gathered may be sent
  std::vector<std::unique_ptr<Side>> sides_;
  sim::Time gemm_ended_{0};
};

}  // namespace c3sim::models
