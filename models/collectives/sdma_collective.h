// An SdmaCollective runs a collective on SDMA engines, from the first packet written to the last completion word seen.
// Each run checks that every destination byte has been written exactly once, from the right place.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/engine_program.h"
#include "models/machine/delivery_ledger.h"
#include "models/machine/host.h"
#include "models/platform/collective_spec.h"
#include "models/sdma/sdma_engine.h"

namespace c3sim::models {

// Returns why engines cannot run the collective, in one sentence that says what would be accepted; empty if they can.
std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma, int gpus);

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
  // Has all submitting threads at once submit their programs, each its own in order.
  sim::Task<> submit(Step& step);
  sim::Task<> submit_by(Step& step, SubmittingThread& thread, sim::Latch& submitted);
  sim::Task<> ring_for_gpu(Step& step, int gpu, SubmittingThread& thread);
  sim::Task<> wait_for_completions(Step& step);
  sim::Task<> wait_by(Step& step, const SubmittingThread& thread, sim::Latch& seen);

  CollectiveSpec spec_;
  QueueUser user_;
  Host& host_;
  std::vector<SdmaComplex*> engines_;
  std::deque<Step> steps_;  // keep their addresses: commands refer to them
};

}  // namespace c3sim::models
