// What a collective on copy engines queues on which engine. Each algorithm lays its programs out in a file of its own;
// algorithm.h names them, sdma_collective.h carries them out.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "models/platform/collective_spec.h"
#include "models/sdma/sdma_packet.h"

namespace c3sim::models {

// Transfers that share one submission to a queue and one completion.
struct EngineProgram {
  int gpu = 0;
  int engine = 0;
  int queue = 0;
  std::vector<TransferCommand> transfers;
};

// The programs of one step, as they are laid out: in the order in which a thread submits them, GPU by GPU.
class EngineLayout {
 public:
  // `side_by_side`: copies to the peers of a GPU that are not queued behind each other. Where they are of one shard,
  // HBM is read once for all.
  EngineLayout(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma, int side_by_side);

  std::vector<int> senders() const;  // the GPUs whose engines have something to do
  // Starting behind itself, so that no GPU is everyone's first target.
  std::vector<int> peers_of(int gpu) const;
  // What an engine of `gpu` does for its pair with `peer`: pushes what that one is due, or pulls what it adds.
  TransferCommand transfer(int gpu, int peer) const;
  // On the engine that is recommended for that peer.
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

}  // namespace c3sim::models
