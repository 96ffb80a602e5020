#include "models/machine/memory.h"

#include <cmath>

namespace c3sim::models {

namespace {
TenantResource::Apart apart(Mechanism bandwidth, Mechanisms without) {
  return {without.has(bandwidth), without.has(Mechanism::loaded_latency), without.has(Mechanism::clock)};
}

// Below the L2s. A request that overtakes all others waits for those of its own kind alone.
TenantResource::Apart apart(const MemorySpec& spec, Mechanism bandwidth, Mechanisms without) {
  TenantResource::Apart level = apart(bandwidth, without);
  const bool partitioned = spec.collective_channels > 0.0;
  level.bandwidth = level.bandwidth || partitioned;
  level.latency = level.latency || partitioned || spec.collectives_first;
  return level;
}
}  // namespace

Memory::Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without)
    : spec_(spec),
      l2_(network, {name + ".l2", spec.xcds * spec.l2_rate.value(), {}}, apart(Mechanism::l2, without)),
      ports_(network, {name + ".xcd_ports", spec.xcds * spec.port_rate.value(), {}}, apart(Mechanism::l2, without)),
      cache_(network, {name + ".infinity_cache", spec.cache_rate.value(), {spec.cache_latency, spec.queueing_factor}},
             apart(spec, Mechanism::infinity_cache, without), 1.0 - spec.collective_channels),
      hbm_(network, {name + ".hbm", spec.hbm_rate.value(), {spec.hbm_latency, spec.queueing_factor}},
           apart(spec, Mechanism::hbm, without), 1.0 - spec.collective_channels) {}

Memory Memory::seen_by_collectives(sim::ResourceNetwork& network) const {
  Memory other = *this;
  for (TenantResource* const level : {&other.l2_, &other.ports_}) *level = level->seen_by_another(network);
  const double channels = spec_.collective_channels > 0.0 ? spec_.collective_channels : 1.0;
  for (TenantResource* const level : {&other.cache_, &other.hbm_}) *level = level->seen_by_another(network, channels);
  return other;
}

double Memory::collective_weight(double in_flight) const {
  constexpr double overtakes = 1e6;
  return spec_.collectives_first ? overtakes * in_flight : in_flight;
}

sim::Time Memory::latency(double cache_hits) const {
  return spec_.cache_latency + sim::to_time((1.0 - cache_hits) * sim::to_seconds(spec_.hbm_latency));
}

sim::Bytes Memory::dirty_in_l2(sim::Bytes stored) const {
  const sim::Bytes capacity = spec_.xcds * spec_.l2_capacity;
  return -std::expm1(-(stored / capacity)) * capacity;
}

void Memory::add_below_l2(UsageList& usages, Traffic traffic) const {
  cache_.add(usages, traffic.reads + traffic.writes);
  const double misses = 1.0 - traffic.cache_hits;
  hbm_.add(usages, misses * (traffic.reads / spec_.hbm_read_efficiency + traffic.writes / spec_.hbm_write_efficiency));
}

void Memory::add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const {
  const double unevenness = busiest_share * spec_.xcds;
  l2_.add(usages, unevenness * l2_bytes);
  ports_.add(usages, unevenness * (beyond.reads + beyond.writes));
  add_below_l2(usages, beyond);
}

}  // namespace c3sim::models
