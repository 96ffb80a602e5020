#include "models/machine/tenant_resource.h"

#include <utility>

namespace c3sim::models {

namespace {

// As wide as all tenants could ever need, and as slow as `spec` is at the same load: a meter that holds nobody back.
sim::ResourceSpec meter_of(sim::ResourceSpec spec) {
  spec.capacity *= static_cast<double>(tenants);
  spec.latency.full_at = 1.0 / static_cast<double>(tenants);
  return spec;
}

sim::ResourceSpec part_of(sim::ResourceSpec spec, double share) {
  spec.capacity *= share;
  return spec;
}

}  // namespace

TenantResource::TenantResource(sim::ResourceNetwork& network, sim::ResourceSpec spec, Apart apart, double own_share)
    : spec_(std::move(spec)),
      apart_(apart),
      together_(network.add_resource(apart.bandwidth ? meter_of(spec_) : spec_)),
      own_(apart.bandwidth || apart.latency || apart.power ? network.add_resource(part_of(spec_, own_share))
                                                           : together_) {}

TenantResource TenantResource::seen_by_another(sim::ResourceNetwork& network, double own_share) const {
  TenantResource other = *this;
  if (own_ != together_) other.own_ = network.add_resource(part_of(spec_, own_share));
  return other;
}

}  // namespace c3sim::models
