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
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/fused_spec.h"
#include "models/machine/memory_word.h"
#include "models/machine/stream.h"
#include "models/machine/trigger.h"
#include "models/node.h"
#include "models/sdma/completion_signal.h"
#include "sim/gate.h"
#include "sim/task.h"

namespace c3sim::models {

// What every GPU sends: a piece, once it has it, to a peer, for which it is part of the piece `there`.
struct FusedTransfer {
  std::int64_t piece;  // -1: what it has from the start
  int distance;        // of the peer behind the GPU
  std::int64_t there;
  bool arrives_first;   // it passes on what must arrive before
  bool is_sum = false;  // of an all-reduce: of what is added up already
};

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
  struct Piece {
    std::int64_t tiles = 0;
    std::int64_t own = 0;     // of these, computed by this GPU
    std::int64_t stored = 0;  // of these, those that are in the peer's memory, where the GEMM stores them there
    int arrived = 0;          // transfers
    int due = 0;              // that arrive in all
    bool passes_on = false;   // what arrives goes further
    bool untracked = false;   // the tracker had no entry left: it counts when the kernel has ended
    std::int64_t withheld = 0;
    std::int64_t entries = 0;                // of the tracker, of tiles that wait for what arrives
    const FusedTransfer* carried = nullptr;  // by the GEMM's own stores
    sim::Time there = sim::Time::max();      // since when it, or with stores its first tile, may travel
    std::unique_ptr<MemoryWord> word;  // what its transfer waits for: tiles computed, and arrivals that are passed on

    bool waits() const { return passes_on && arrived < due; }
  };
  // One GPU.
  struct Side {
    int gpu = 0;
    // In the order of their tiles; then of what is gathered those that arrive, the pieces of a round together.
    std::vector<Piece> pieces;
    std::size_t unfinished = 0;  // the first of them with tiles that are not computed
    std::int64_t before = 0;     // tiles of those before it
    std::int64_t entries = 0;    // of all pieces
    // Where tiles wait for entries: these, and what those being stored have left over of a turn, in parts of one tile.
    std::deque<std::pair<Piece*, std::int64_t>> held;
    std::int64_t turn = 0;
    std::unique_ptr<MemoryWord> gathered;  // how many of these are there
    std::unique_ptr<sim::Latch> arrivals;
    std::vector<std::unique_ptr<CompletionSignal>> completions;
  };

  Side& side(int gpu) { return *sides_[static_cast<std::size_t>(gpu < node_.simulated() ? gpu : 0)]; }
  void add_side(int gpu);
  Stream stream_on(Side& side);
  TransferCommand command_of(int gpu, const FusedTransfer& transfer);
  bool is_stored(const FusedTransfer& transfer) const;  // rather than copied by an engine
  void add_commands(Side& side, int distance, bool sums, std::map<int, int>& used_queues);
  sim::Task<> run_kernel_on(Side& side, sim::Latch& ended);
  sim::Task<> see_completions(Side& side, sim::Latch& seen);
  void retire(const KernelProgress& progress);
  void count(Side& side, Piece& piece, std::int64_t more);
  void hold(Side& side, Piece& piece, std::int64_t more);
  void admit(Side& side, std::int64_t tiles);
  void notify(Piece& piece, std::int64_t more);
  void arrive(int gpu, const FusedTransfer& transfer);
  sim::Task<> store(Side& side, FusedTransfer transfer, std::int64_t tiles);

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
  std::int64_t tiles_;    // of the GEMM
  std::int64_t storing_;  // of those that are computed at once, which are being stored
  std::vector<FusedTransfer> transfers_;
  std::deque<std::pair<int, const FusedTransfer*>> arrivals_;  // that engines tell of: where, of what
  MemoryWord release_;                                         // what is gathered may be sent
  std::vector<QueuedCommands> queued_;                         // until they are submitted
  std::vector<std::unique_ptr<Side>> sides_;
  sim::Time gemm_ended_{0};
};

}  // namespace c3sim::models
