// EnginePrograms say what a collective on copy engines queues on which engine. An algorithm (algorithm.h) lays them
// out, and sdma_collective.h runs them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "models/platform/collective_spec.h"
#include "models/sdma/sdma_packet.h"

namespace c3sim::models {

// The transfers of an EngineProgram share one submission to a queue and one completion.
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

}  // namespace c3sim::models
