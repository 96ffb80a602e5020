// The share of its GPUs' caches that a collective holds while its data streams through them.
#pragma once

#include <utility>
#include <vector>

#include "models/machine/cache_sharing.h"

namespace c3sim::models {

class Node;

class StreamFill {
 public:
  // Bytes filled at each level per byte of payload, at the rate at which the links of a GPU can carry payload.
  struct PerPayload {
    double l2 = 0.0;
    double cache = 0.0;
  };
  StreamFill(Node& node, int first, int gpus, PerPayload fills);  // the simulated GPUs that take part
  // To be called once. Not left to the destructor: a run that fails is taken down after its node.
  void leave();

 private:
  std::vector<std::pair<CacheSharing*, CacheSharing::Handle>> clients_;  // by GPU
};

}  // namespace c3sim::models
