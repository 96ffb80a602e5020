// The share of the caches of all GPUs that a collective holds while its data streams through them.
#pragma once

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
  StreamFill(Node& node, PerPayload fills);
  // To be called once. Not left to the destructor: a run that fails is taken down after its node.
  void leave();

 private:
  Node& node_;
  std::vector<CacheSharing::Handle> clients_;  // by simulated GPU
};

}  // namespace c3sim::models
