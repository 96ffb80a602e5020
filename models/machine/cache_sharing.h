// CacheSharing divides the caches of one GPU among its kernels. Under least-recently-used replacement a stream's share
// of a cache follows its share of the fills, so every kernel declares how fast it fills each level while undisturbed.
#pragma once

#include <functional>
#include <list>

#include "models/platform/interference.h"
#include "sim/units.h"

namespace c3sim::models {

class CacheSharing {
 public:
  struct Client {
    sim::BytesPerSecond l2_fill;      // over all L2s of the GPU
    sim::BytesPerSecond cache_fill;   // Infinity Cache
    std::function<void()> on_change;  // called when another client enters or leaves; may be empty
  };
  using Handle = std::list<Client>::iterator;

  // Every client holds all of the levels in `without`. `set_apart` is the share of the Infinity Cache that belongs to
  // collectives, which never ask for their share.
  explicit CacheSharing(Mechanisms without = {}, double set_apart = 0.0) : without_(without), set_apart_(set_apart) {}

  Handle enter(Client client);
  void leave(Handle client);

  // Both return the share of the capacity that the client holds, 0..1.
  double l2_share(Handle client) const { return share(client, &Client::l2_fill, Mechanism::l2); }
  double cache_share(Handle client) const {
    return set_apart_ > 0.0 ? 1.0 - set_apart_ : share(client, &Client::cache_fill, Mechanism::infinity_cache);
  }

 private:
  double share(Handle client, sim::BytesPerSecond Client::*fill, Mechanism level) const;
  void notify_all_but(Handle client);

  Mechanisms without_;
  double set_apart_;
  std::list<Client> clients_;
};

}  // namespace c3sim::models
