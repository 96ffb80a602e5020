#include "models/machine/cache_sharing.h"

namespace c3sim::models {

CacheSharing::Handle CacheSharing::enter(Client client) {
  const Handle handle = clients_.insert(clients_.end(), std::move(client));
  notify_all_but(handle);
  return handle;
}

void CacheSharing::leave(Handle client) {
  clients_.erase(client);
  notify_all_but(clients_.end());
}

double CacheSharing::share(Handle client, sim::BytesPerSecond Client::*fill, Mechanism level) const {
  if (without_.has(level)) return 1.0;
  sim::BytesPerSecond all;
  for (const Client& other : clients_) all += other.*fill;
  return all.value() > 0.0 ? (*client).*fill / all : 1.0;
}

void CacheSharing::notify_all_but(Handle client) {
  for (Handle other = clients_.begin(); other != clients_.end(); ++other) {
    if (other != client && other->on_change) other->on_change();
  }
}

}  // namespace c3sim::models
