#include "models/machine/resource_kind.h"

#include <utility>

namespace c3sim::models {

std::optional<Mechanism> mechanism_of(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::l2:
    case ResourceKind::l2_bursts:
    case ResourceKind::xcd_ports:
      return Mechanism::l2;
    case ResourceKind::infinity_cache:
      return Mechanism::infinity_cache;
    case ResourceKind::hbm:
      return Mechanism::hbm;
    case ResourceKind::link:
    case ResourceKind::remote_reads:
    case ResourceKind::host_link:
      return Mechanism::link;
    case ResourceKind::engine:
    case ResourceKind::pulls:
    case ResourceKind::adders:
    case ResourceKind::meter:
      return std::nullopt;
  }
  return std::nullopt;
}

sim::ResourceNetwork::Apart apart(ResourceKind kind, Mechanisms without) {
  const std::optional<Mechanism> mechanism = mechanism_of(kind);
  return {.bandwidth = mechanism && without.has(*mechanism)};
}

sim::ResourceId add_resource(sim::ResourceNetwork& network, ResourceKind kind, std::string name, double rate,
                             const sim::LoadedLatency& latency, const sim::ResourceNetwork::Apart& apart) {
  return network.add_resource({std::move(name), rate, latency, static_cast<std::uint32_t>(kind)}, apart);
}

ResourceKind kind_of(const sim::ResourceNetwork& network, sim::ResourceId resource) {
  return static_cast<ResourceKind>(network.kind(resource));
}

}  // namespace c3sim::models
