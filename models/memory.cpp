#include "models/memory.h"

#include "models/limits.h"

namespace models {

MemorySpec MemorySpec::read(sim::Section section, int xcds) {
  MemorySpec spec;
  spec.xcds = xcds;
  sim::Section l2 = section.section("l2");
  spec.l2_capacity = l2.bytes("capacity", limits::capacity);
  spec.l2_rate = l2.rate("rate", limits::rate);
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

Memory::Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name)
    : spec_(spec),
      l2_(network.add_resource({name + ".l2", spec.xcds * spec.l2_rate.value(), {}})),
      ports_(network.add_resource({name + ".xcd_ports", spec.xcds * spec.port_rate.value(), {}})),
      cache_(network.add_resource(
          {name + ".infinity_cache", spec.cache_rate.value(), {spec.cache_latency, spec.queueing_factor}})),
      hbm_(network.add_resource({name + ".hbm", spec.hbm_rate.value(), {spec.hbm_latency, spec.queueing_factor}})) {}

void Memory::add_below_l2(UsageList& usages, Traffic traffic) const {
  usages.add(cache_, traffic.reads + traffic.writes);
  const double misses = 1.0 - traffic.cache_hits;
  usages.add(hbm_, misses * (traffic.reads / spec_.hbm_read_efficiency + traffic.writes / spec_.hbm_write_efficiency));
}

void Memory::add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const {
  const double unevenness = busiest_share * spec_.xcds;
  usages.add(l2_, unevenness * l2_bytes);
  usages.add(ports_, unevenness * (beyond.reads + beyond.writes));
  add_below_l2(usages, beyond);
}

}  // namespace models
