// Serves requests on replicas, each of one group of GPUs, or of two: one computes prompts and hands its cache over to
// the other. A router assigns each request to a replica when it arrives.
//
// Each group serves by continuous batching, as vLLM's scheduler does (Kwon et al., arXiv 2309.06180; Agrawal et al.,
// arXiv 2403.02310; vllm/v1/core/sched/scheduler.py). Each batch goes through the running sequences in the order of
// admission. A sequence whose prompt is computed gets a token, or has a draft verified; others get what is left of the
// budget of tokens for their prompts. Cache blocks are taken as tokens need them. If there are none, the last admitted
// sequence is preempted: it loses its blocks and is computed again. If a batch preempts nobody, waiting sequences are
// admitted while budget, places and blocks last. With data parallelism each sequence is computed by one replica, the
// one with the fewest when it was admitted; all replicas begin their batches together, and wait for the one that takes
// longest. Serving has the only clock beside the simulator's: it goes on from batch to batch, by the times that
// simulated steps took (study/serve/batch_times.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "study/serve/batch_times.h"
#include "study/serve/fetch.h"
#include "study/serve/request_source.h"
#include "study/serve/serve_question.h"
#include "study/serve/served.h"

namespace c3sim::study {

// WindowedLayers attend to no more than `window` tokens, whose keys and values alone stay in the cache.
struct WindowedLayers {
  std::int64_t window = 1;
  double share = 1.0;  // of the bytes of a block, which has tokens of all layers
};

// A ServerSpec is the room that a server has; everything else is as its ServeQuestion says.
struct ServerSpec {
  std::size_t replicas = 1;  // of attention, which share out the sequences
  std::int64_t block = 16;   // tokens of a block
  std::int64_t blocks = 1;   // blocks of the cache
  std::vector<WindowedLayers> windowed{};
  bool fetches =
      false;  // beginnings come from the store, which has those of drawn requests at first, as far as they fit
  std::int64_t store_blocks = 0;

  // Returns the blocks whose bytes so many tokens of a sequence take.
  std::int64_t blocks_of(std::int64_t tokens) const;
  // Returns the tokens of the longest sequence for which the cache has room, even if its beginning is kept for others.
  std::int64_t longest() const;
};

// A ServingGroup is the specification of a server and the costs of its work.
struct ServingGroup {
  ServerSpec spec;
  BatchCosts costs;
  // `fetch_time` is the time of a fetch alone, from the store or from the group that computed the prompt; fetches
  // follow one another. `beside` is the slowdown of concurrent fetches and batches, if there is any.
  std::function<sim::Time(std::int64_t tokens)> fetch_time;
  std::function<FetchSlowdown(const Batch& batch)> beside{};
  sim::Watts at_rest{};  // of all its GPUs
};

// A SeesBatch is called for every batch, with the index of its group within the replica.
using SeesBatch = std::function<void(const Batch& batch, std::size_t group)>;

// Serves all requests of a source to the end, after which every block is free.
Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question = {},
             const SeesBatch& sees_batch = {});

}  // namespace c3sim::study
