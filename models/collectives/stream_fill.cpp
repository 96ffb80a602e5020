#include "models/collectives/stream_fill.h"

#include "models/node.h"

namespace c3sim::models {

StreamFill::StreamFill(Node& node, int first, int gpus, PerPayload fills) {
  const sim::BytesPerSecond payload = node.fabric().rate_out();
  for (int gpu = first; gpu < first + gpus; ++gpu) {
    CacheSharing& caches = node.gpu(gpu).cache_sharing();
    clients_.emplace_back(&caches, caches.enter({fills.l2 * payload, fills.cache * payload, nullptr}));
  }
}

void StreamFill::leave() {
  for (const auto& [caches, client] : clients_) caches->leave(client);
}

}  // namespace c3sim::models
