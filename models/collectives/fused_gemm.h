// A GEMM and the collective that it feeds, or that feeds it, as one: engines move a piece as soon as it is complete,
// and workgroups begin as soon as the piece of the operand is there that they need. Tokens (n) lie on the GPUs in equal
// shards, each in `pieces`; tiles are computed in the order in which their pieces travel, a GPU's own shard last, or,
// of what is gathered, first. After T3 (arXiv 2401.16677) on a ring, and directly to each peer on a mesh.
//
// Where memory adds (gpu.memory.near_memory) what is reduced travels as updates; else it is put beside each other,
// which only a direct exchange can, and a kernel adds it up in the end. An all-reduce is that of memory that adds: a
// piece that is added up goes to all others at once, by the same trigger.
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
#include "models/sdma/completion_signal.h"
#include "sim/gate.h"
#include "sim/task.h"

namespace c3sim::models {

// Must be possible, and outlive its run. Fused products that may run at the same time have lanes of their own, which
// are queues of each engine: in one queue a product's workgroups could wait on their CUs for pieces that lie behind
// those of another product, whose workgroups wait for these CUs.
class FusedGemm {
 public:
  FusedGemm(Node& node, FusedSpec spec, Stream stream, int lane = 0);
  FusedGemm(const FusedGemm&) = delete;
  FusedGemm& operator=(const FusedGemm&) = delete;

  // What is not timed: queues the engines' commands behind what they wait for. What comes behind other operations in
  // its queues follows these later, by itself.
  sim::Task<> prepare();
  // From the host's first instruction to its knowledge that all is where it is due.
  sim::Task<> run();
  // When the first piece was there to travel; when the host knew of the end of the GEMM.
  sim::Time exchange_began() const;
  sim::Time gemm_ended() const { return gemm_ended_; }

 private:
  // What the GEMM stores into a peer's memory itself.
  struct StoredPiece {
    const FusedTransfer* transfer = nullptr;
    std::int64_t tiles = 0;  // that are in the peer's memory
  };
  // One GPU. Its pieces are in the order of their tiles; behind them are those of what is gathered that arrive, the
  // pieces of a round together.
  struct Side {
    Side(sim::Simulator& simulator, int of, const Trigger& trigger, std::int64_t storing)
        : gpu(of), pieces(simulator, trigger, storing) {}

    int gpu;
    PieceTracker pieces;
    std::map<std::int64_t, StoredPiece> stored;  // by piece
    std::unique_ptr<MemoryWord> gathered;        // how many of what is gathered are there
    std::unique_ptr<sim::Latch> arrivals;
    std::vector<std::unique_ptr<CompletionSignal>> completions;
  };

  Side& side(int gpu) { return *sides_[static_cast<std::size_t>(gpu < node_.simulated() ? gpu : 0)]; }
  void add_side(int gpu, std::int64_t storing);
  Stream stream_on(Side& side);
  TransferCommand command_of(int gpu, const FusedTransfer& transfer);
  bool is_stored(const FusedTransfer& transfer) const;  // rather than copied by an engine
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
  std::int64_t tiles_;  // of the GEMM
  std::vector<FusedTransfer> transfers_;
  std::deque<std::pair<int, const FusedTransfer*>> arrivals_;  // that engines tell of: where, of what
  MemoryWord release_;                                         // what is gathered may be sent
  std::vector<QueuedCommands> queued_;                         // until they are submitted
  std::vector<std::unique_ptr<Side>> sides_;
  sim::Time gemm_ended_{0};
};

}  // namespace c3sim::models
