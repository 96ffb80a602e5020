// What an SDMA collective queues on which engine: the transfers of each variant.
#pragma once

#include <string>
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

// The steps of a collective, one after the other: all-reduce is reduce-scatter and all-gather, every other is one step.
std::vector<CollectiveKind> sdma_steps(CollectiveKind kind);

// The programs of one step, in the order in which a thread submits them: GPU by GPU. DMA-Latte (arXiv 2511.06605):
//   pcpy  one copy per peer, each on the engine recommended for it
//   bcst  one broadcast per broadcast_width peers
//   swap  one exchange per pair of GPUs, run by one of the two: each GPU runs at most half of its peers, rounded up
//   b2b   all copies back to back on `engines` engines
// A reduction is pulled: engines of the GPU that owns a chunk read the addends of its peers and add them to it, each
// beginning with another part of the chunk, so that no two add to the same bytes at once.
// `spec` must be possible. The array is padded to a multiple of the number of GPUs.
std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

// Why these engines cannot run the collective, in one sentence that says what would be accepted; empty if they can.
std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma, int gpus);

}  // namespace c3sim::models
