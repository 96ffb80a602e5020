// An SdmaCollective runs a collective on SDMA engines, from the first packet written to the last completion word seen.
// Each run checks that every destination byte has been written exactly once, from the right place.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/delivery_ledger.h"
#include "models/machine/host.h"
#include "models/platform/collective_spec.h"
#include "models/sdma/sdma_engine.h"
#include "models/sdma/sdma_packet.h"

namespace c3sim::models {

// An EngineProgram is what a collective on copy engines queues on one engine, as an algorithm (algorithm.h) lays it
// out. Its transfers share one submission to a queue and one completion.
struct EngineProgram {
  int gpu = 0;
  int engine = 0;
  int queue = 0;
  std::vector<TransferCommand> transfers;
};

// An EngineLayout collects the programs of one step in the order in which a thread submits them: GPU by GPU.
class EngineLayout {
 public:
  // `side_by_side` is the number of a GPU's concurrent copies. If they copy one shard, HBM is read once for all.
  EngineLayout(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma, int side_by_side);

  std::vector<int> senders() const;  // the GPUs whose engines have something to do
  // Returns the other GPUs, starting with the next one, so that no GPU is everyone's first target.
  std::vector<int> peers_of(int gpu) const;
  // Returns the transfer that an engine of `gpu` makes with `peer`: it pushes the peer's part, or pulls an addend.
  TransferCommand transfer(int gpu, int peer) const;
  // Adds a program on the engine that is recommended for that peer.
  void add(int gpu, int peer, std::vector<TransferCommand> transfers);

  std::vector<EngineProgram> take() && { return std::move(programs_); }

 private:
  CollectiveKind step_;
  const CollectiveSpec& spec_;
  const SdmaSpec& sdma_;
  int readers_;
  std::vector<EngineProgram> programs_;
  std::map<std::pair<int, int>, int> used_queues_;  // by GPU and engine
};

// Lays out one copy for every `width` peers.
std::vector<EngineProgram> engine_copies(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma,
                                         int width);

// Returns why engines cannot run the collective, in one sentence that says what would be accepted; empty if they can.
std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma);

// Returns the steps of a collective on engines: reduce-scatter and all-gather for an all-reduce, else the collective.
std::vector<CollectiveKind> sdma_steps(CollectiveKind kind);

// Returns the programs of one step of a possible `spec`, in the order in which a thread submits them: GPU by GPU. A
// reduction is pulled: engines of the GPU that owns a chunk read its peers' addends and add them, each beginning with
// another part, so that no two add to the same bytes at once. The array is padded to a multiple of the number of GPUs.
std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

class SdmaCollective {
 public:
  // `engines` are those of all GPUs of the node, by index, or of the one that stands for all. why_impossible_on_sdma()
  // must be empty for `spec`.
  SdmaCollective(const CollectiveSpec& spec, Host& host, std::span<SdmaComplex* const> engines, QueueUser user = {});
  SdmaCollective(const SdmaCollective&) = delete;
  SdmaCollective& operator=(const SdmaCollective&) = delete;

  // Does what is not timed: with prelaunch, queues everything behind POLLs and ends when all engines wait at them. If
  // other operations come first in its queues, it ends earlier, and what cannot be queued yet follows by itself.
  sim::Task<> prepare();
  // Runs the timed part, once and after prepare(): submits everything, or with prelaunch releases it; ends when the
  // waiters know of all completions. Returns the time that it took.
  sim::Task<sim::Time> run();

  const CollectiveSpec& spec() const { return spec_; }
  sim::Simulator& simulator() { return host_.simulator(); }

 private:
  struct QueuedProgram {
    int gpu = 0;
    SdmaQueue* queue = nullptr;
    std::vector<SdmaCommand> commands;  // empty once submitted
    std::unique_ptr<CompletionSignal> completion;
  };
  struct Step {
    std::vector<QueuedProgram> programs;
    std::vector<EngineProgram> mirrored;  // programs of GPUs that are not simulated
    std::unique_ptr<MemoryWord> release;  // the word that POLLs wait for
    std::unique_ptr<sim::Latch> polling;  // counts queues that have not come to their first POLL
    DeliveryLedger ledger;
  };

  void add_step(CollectiveKind kind);
  void add_program(Step& step, EngineProgram program, bool first_in_queue);
  SdmaComplex& engines_of(const QueuedProgram& queued) { return *engines_[static_cast<std::size_t>(queued.gpu)]; }
  // Has all threads that `thread_of` gives for the programs do their work at once. The texts are for deadlocks.
  using ThreadOf = SubmittingThread& (SdmaComplex::*)(Host&);
  using WorkOfThread = sim::Task<> (SdmaCollective::*)(Step&, SubmittingThread&, sim::Latch&);
  sim::Task<> by_threads(Step& step, ThreadOf thread_of, WorkOfThread work, const char* what, const char* all);
  // Has all submitting threads submit their programs, each its own in order.
  sim::Task<> submit(Step& step);
  sim::Task<> submit_by(Step& step, SubmittingThread& thread, sim::Latch& submitted);
  sim::Task<> ring_for_gpu(Step& step, int gpu, SubmittingThread& thread);
  sim::Task<> wait_by(Step& step, SubmittingThread& thread, sim::Latch& seen);

  CollectiveSpec spec_;
  QueueUser user_;
  Host& host_;
  std::vector<SdmaComplex*> engines_;
  std::deque<Step> steps_;  // keep their addresses: commands refer to them
};

}  // namespace c3sim::models
