// A StreamFill holds a collective's share of its GPUs' caches while data streams through them.
#pragma once

#include <utility>
#include <vector>

#include "models/machine/cache_sharing.h"

namespace c3sim::models {

class Node;

class StreamFill {
 public:
  // PerPayload has the bytes filled at each level per byte of payload, which flows at the full rate of a GPU's links.
  struct PerPayload {
    double l2 = 0.0;
    double cache = 0.0;
  };
  StreamFill(Node& node, int first, int gpus, PerPayload fills);  // `gpus` simulated GPUs from `first` on
  // Gives up the share; must be called once. The destructor does not: a run that fails is destroyed after its node.
  void leave();

 private:
  std::vector<std::pair<CacheSharing*, CacheSharing::Handle>> clients_;  // by GPU
};

}  // namespace c3sim::models
