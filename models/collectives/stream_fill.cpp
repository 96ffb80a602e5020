#include "models/collectives/stream_fill.h"

#include "models/node.h"

namespace c3sim::models {

StreamFill::StreamFill(Node& node, PerPayload fills) : node_(node) {
  clients_.reserve(static_cast<std::size_t>(node.simulated()));
  const sim::BytesPerSecond payload = node.fabric().rate_out();
  for (int gpu = 0; gpu < node.simulated(); ++gpu) {
    clients_.push_back(node.gpu(gpu).cache_sharing().enter({fills.l2 * payload, fills.cache * payload, nullptr}));
  }
}

void StreamFill::leave() {
  for (int gpu = 0; gpu < node_.simulated(); ++gpu) {
    node_.gpu(gpu).cache_sharing().leave(clients_[static_cast<std::size_t>(gpu)]);
  }
}

}  // namespace c3sim::models
