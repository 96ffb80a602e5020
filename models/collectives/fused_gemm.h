// A FusedGemm runs a GEMM and the collective that it feeds, or that feeds it, as one: engines move a piece as soon as
// it is complete, and workgroups begin as soon as the piece of the operand that they need has arrived. Tokens (n) lie
// on the GPUs in equal shards, each in `pieces`. Tiles are computed in the order in which their pieces travel, a GPU's
// own shard last; for an all-gather it comes first. This follows T3 (arXiv 2401.16677) on a ring; on a mesh pieces go
// directly to each peer.
//
// If memory adds (gpu.memory.near_memory), what is reduced travels as updates. Otherwise the addends are stored next to
// each other, which only a direct exchange can do, and a kernel adds them in the end. An all-reduce needs memory that
// adds: a piece that is added up goes to all other GPUs at once, by the same trigger.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/collectives/fused_spec.h"
#include "models/collectives/fused_transfers.h"
#include "models/collectives/piece_tracker.h"
#include "models/machine/memory_word.h"
#include "models/machine/stream.h"
#include "models/machine/trigger.h"
#include "models/node.h"
#include "models/sdma/sdma_engine.h"
#include "sim/gate.h"
#include "sim/task.h"

namespace c3sim::models {

// A FusedGemm must be possible and outlive its run. Fused products that may run at the same time need different lanes,
// which are queues of each engine: in one queue a product's workgroups could wait on their CUs for pieces queued after
// those of another product, whose workgroups wait for these CUs.
class FusedGemm {
 public:
  FusedGemm(Node& node, FusedSpec spec, Stream stream, int lane = 0);
  FusedGemm(const FusedGemm&) = delete;
  FusedGemm& operator=(const FusedGemm&) = delete;

  // Does what is not timed: queues the engines' commands after their POLLs. Commands that come after other operations
  // in their queues are submitted later, by processes of their own.
  sim::Task<> prepare();
  // Runs the timed part, from the host's first instruction to its knowledge that all data is in place.
  sim::Task<> run();
  // These return when the first piece was ready to travel, and when the host knew of the end of the GEMM.
  sim::Time exchange_began() const;
  sim::Time gemm_ended() const { return gemm_ended_; }

 private:
  // A StoredPiece is one that the GEMM itself stores into a peer's memory.
  struct StoredPiece {
    const FusedTransfer* transfer = nullptr;
    std::int64_t tiles = 0;  // tiles that have reached the peer's memory
  };
  // A Side is one GPU. Its pieces are those that it computes, in the order of their tiles, followed by those that are
  // gathered (in an all-reduce, too), round by round.
  struct Side {
    Side(sim::Simulator& simulator, int of, const Trigger& trigger, std::int64_t storing)
        : gpu(of), pieces(simulator, trigger, storing) {}

    int gpu;
    PieceTracker pieces;
    std::map<std::int64_t, StoredPiece> stored;  // by piece
    std::unique_ptr<MemoryWord> gathered;        // counts gathered pieces that have arrived
    std::unique_ptr<sim::Latch> arrivals;
    std::vector<std::unique_ptr<CompletionSignal>> completions;
  };

  Side& side(int gpu) { return *sides_[static_cast<std::size_t>(gpu < node_.simulated() ? gpu : 0)]; }
  void add_side(int gpu, std::int64_t storing);
  Stream stream_on(Side& side);
  TransferCommand command_of(int gpu, const FusedTransfer& transfer);
  bool is_stored(const FusedTransfer& transfer) const;  // true: the GEMM stores it; false: an engine copies it
  void add_commands(Side& side, int distance, bool sums, std::map<int, int>& used_queues);
  sim::Task<> run_kernel_on(Side& side, sim::Latch& ended);
  sim::Task<> see_completions(Side& side, sim::Latch& seen);
  void retire(const KernelProgress& progress);
  void arrive(int gpu, const FusedTransfer& transfer);
  sim::Task<> store(Side& side, StoredPiece& stored, std::int64_t tiles);

  struct QueuedCommands {
    SdmaComplex* complex;
    SdmaQueue* queue;
    std::vector<SdmaCommand> commands;
  };

  Node& node_;
  FusedSpec spec_;
  int gpus_;
  Stream stream_;
  int lane_;
  Trigger trigger_;
  std::int64_t tiles_;  // tiles of the GEMM
  std::vector<FusedTransfer> transfers_;
  std::deque<std::pair<int, const FusedTransfer*>> arrivals_;  // of engines' transfers: GPU and transfer
  MemoryWord release_;                                         // 1 once the pieces of an all-gather may be sent
  std::vector<QueuedCommands> queued_;                         // commands that prepare() submits
  std::vector<std::unique_ptr<Side>> sides_;
  sim::Time gemm_ended_{0};
};

}  // namespace c3sim::models
