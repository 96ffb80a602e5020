#include "models/memory.h"

#include <cmath>

#include "models/limits.h"

namespace models {

MemorySpec MemorySpec::read(sim::Section section, int xcds) {
  MemorySpec spec;
  spec.xcds = xcds;
  sim::Section l2 = section.section("l2");
  spec.l2_capacity = l2.bytes("capacity", limits::capacity);
  spec.l2_rate = l2.rate("rate", limits::rate);
  spec.writeback_rate = l2.rate("writeback_rate", limits::rate);
  spec.port_rate = l2.rate("port_rate", limits::rate);
  sim::Section cache = section.section("infinity_cache");
  spec.cache_capacity = cache.bytes("capacity", limits::capacity);
  spec.cache_rate = cache.rate("rate", limits::rate);
  spec.cache_latency = cache.time("latency", limits::latency);
  sim::Section hbm = section.section("hbm");
  spec.hbm_rate = hbm.rate("peak_rate", limits::rate);
  spec.hbm_read_efficiency = hbm.number("read_efficiency", 0.05, 1.0);
  spec.hbm_write_efficiency = hbm.number("write_efficiency", 0.05, 1.0);
  spec.hbm_latency = hbm.time("latency", limits::latency);
  spec.queueing_factor = section.number("queueing_factor", 0.0, 100.0);
  return spec;
}

namespace {
TenantResource::Apart apart(Mechanism bandwidth, Mechanisms without) {
  return {without.has(bandwidth), without.has(Mechanism::loaded_latency), without.has(Mechanism::clock)};
}
}  // namespace

Memory::Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without)
    : spec_(spec),
      l2_(network, {name + ".l2", spec.xcds * spec.l2_rate.value(), {}}, apart(Mechanism::l2, without)),
      ports_(network, {name + ".xcd_ports", spec.xcds * spec.port_rate.value(), {}}, apart(Mechanism::l2, without)),
      cache_(network, {name + ".infinity_cache", spec.cache_rate.value(), {spec.cache_latency, spec.queueing_factor}},
             apart(Mechanism::infinity_cache, without)),
      hbm_(network, {name + ".hbm", spec.hbm_rate.value(), {spec.hbm_latency, spec.queueing_factor}},
           apart(Mechanism::hbm, without)) {}

Memory Memory::seen_by_another(sim::ResourceNetwork& network) const {
  Memory other = *this;
  for (TenantResource* const level : {&other.l2_, &other.ports_, &other.cache_, &other.hbm_}) {
    *level = level->seen_by_another(network);
  }
  return other;
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

}  // namespace models
