#include "models/machine/memory.h"

#include <algorithm>
#include <cmath>

namespace c3sim::models {
namespace {

ResourceKind kind_of(const MemoryLevel& level) {
  if (level.mechanism == Mechanism::l2) return ResourceKind::l2;
  return level.mechanism == Mechanism::infinity_cache ? ResourceKind::infinity_cache : ResourceKind::hbm;
}

sim::ResourceNetwork::Apart apart_from_clock(ResourceKind kind, Mechanisms without) {
  sim::ResourceNetwork::Apart level = apart(kind, without);
  level.latency = without.has(Mechanism::loaded_latency);
  level.load = without.has(Mechanism::clock);
  return level;
}

// Returns how tenants divide a level below the L2s. If collectives come first, their requests wait only for each other.
sim::ResourceNetwork::Apart apart_below_l2(const MemorySpec& spec, ResourceKind kind, Mechanisms without) {
  sim::ResourceNetwork::Apart level = apart_from_clock(kind, without);
  const double channels = spec.collective_channels;
  if (channels > 0.0) {
    level.bandwidth = true;
    level.share = {1.0 - channels, channels, channels};
  }
  if (kind == ResourceKind::hbm && spec.arbitration != Arbitration::off && !level.bandwidth) {
    level.bandwidth = true;
    level.latency = true;
    level.part = {0, 1, 1, 0, 1};  // compute and communication, in the order of Tenant
    level.share = {1.0 - spec.arbitration_floor, 1.0};
    return level;
  }
  if (channels > 0.0 || spec.collectives_first) {
    level.part = {0, 1, 2, 0, 0};  // compute and the two kinds of collectives, in the order of Tenant
    level.latency = true;
  }
  return level;
}

}  // namespace

Memory::Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without)
    : spec_(spec), network_(network) {
  for (const MemoryLevel& level : spec.levels()) {
    const ResourceKind kind = kind_of(level);
    const std::string of_level = name + "." + std::string(level.key);
    if (kind != ResourceKind::l2) {
      sim::LoadedLatency latency{level.latency, spec.queueing_factor};
      latency.backlog = true;
      levels_.push_back({level, add_resource(network, kind, of_level, level.rate.value(), latency,
                                             apart_below_l2(spec, kind, without))});
      continue;
    }
    const sim::ResourceNetwork::Apart apart_here = apart_from_clock(kind, without);
    levels_.push_back({level, add_resource(network, kind, of_level, level.rate.value(), {}, apart_here)});
    ports_ = add_resource(network, ResourceKind::xcd_ports, name + ".xcd_ports", spec.xcds * spec.port_rate.value(), {},
                          apart_here);
    if (spec.l2_wait == sim::Time(0)) continue;
    sim::LoadedLatency wait;
    wait.busy = spec.l2_wait;
    bursts_ =
        add_resource(network, ResourceKind::l2_bursts, of_level + ".bursts", level.rate.value(), wait, apart_here);
  }
  for (const Level& level : below_l2()) latency_path_.push_back(level.resource);
  if (spec.near_memory != NearMemory::none) {
    adders_ = add_resource(network, ResourceKind::adders, name + ".adders", spec.update_rate * spec.hbm_rate.value());
  }
  if (spec.metered) {
    const double boundless = 1e3 * spec.hbm_rate.value();
    meters_ = {add_resource(network, ResourceKind::meter, name + ".hbm.reads", boundless),
               add_resource(network, ResourceKind::meter, name + ".hbm.writes", boundless),
               add_resource(network, ResourceKind::meter, name + ".infinity_cache", boundless)};
  }
}

bool Memory::arbitrate() const {
  const sim::ResourceId compute = network_.part(static_cast<std::size_t>(Tenant::gemm), hbm());
  const sim::ResourceId communication = network_.part(static_cast<std::size_t>(Tenant::sdma), hbm());
  const double whole = spec_.hbm_rate.value();
  const double taken = network_.load(compute) / whole;
  const double intensity = spec_.arbitration == Arbitration::fixed ? 1.0 : taken;
  const double threshold = 1.0 - intensity * (1.0 - spec_.arbitration_threshold);
  const double share = std::max(threshold - taken, spec_.arbitration_floor);
  constexpr double as_before = 1e-3;
  if (std::abs(share - network_.capacity(communication) / whole) <= as_before) return false;
  network_.set_capacity(communication, share * whole);
  return true;
}

MovedBytes Memory::moved() const {
  MovedBytes moved;
  moved.l2 = network_.served(l2());
  if (spec_.has_cache()) moved.cache = network_.served(levels_[1].resource);
  if (meters_) {
    moved.cache = network_.served(meters_->cache);
    moved.hbm_reads = network_.served(meters_->reads);
    moved.hbm_writes = network_.served(meters_->writes);
  }
  if (adders_) moved.updates = network_.served(*adders_);
  return moved;
}

void Memory::set_clock(double share) const {
  if (!spec_.l2_follows_clock) return;
  const double rate = share * spec_.xcds * spec_.l2_rate.value();
  network_.set_rate(l2(), rate);
  if (bursts_) network_.set_rate(*bursts_, rate);
}

double Memory::collective_weight(double in_flight) const {
  constexpr double overtakes = 1e6;
  return spec_.collectives_first ? overtakes * in_flight : in_flight;
}

sim::Time Memory::latency(double cache_hits) const {
  sim::Time latency{0};
  for (const Level& level : below_l2()) {
    const double come = level.resource == hbm() ? 1.0 - cache_hits : 1.0;
    latency += sim::to_time(come * sim::to_seconds(level.spec.latency));
  }
  return latency;
}

sim::Bytes Memory::dirty_in_l2(sim::Bytes stored) const {
  const sim::Bytes capacity = spec_.xcds * spec_.l2_capacity;
  return -std::expm1(-(stored / capacity)) * capacity;
}

void Memory::add_below_l2(UsageList& usages, Traffic traffic) const {
  for (const Level& level : below_l2()) {
    if (level.resource == hbm()) continue;
    usages.add(level.resource, spec_.cache_bytes(traffic.reads, traffic.writes) + traffic.updates);
    if (meters_) usages.add(meters_->cache, traffic.reads + traffic.writes + traffic.updates);
  }
  const double misses = 1.0 - traffic.cache_hits;
  double reads = misses * traffic.reads;
  double writes = misses * traffic.writes;
  if (traffic.updates > 0.0) {
    usages.add(adders_.value(), traffic.updates);
    // If the cache adds, lines that miss it are read from HBM and written back. Lines that HBM updates are in no cache.
    const bool in_cache = spec_.near_memory == NearMemory::infinity_cache;
    reads += in_cache ? misses * traffic.updates : 0.0;
    writes += in_cache ? misses * traffic.updates : traffic.updates;
  }
  usages.add(hbm(), spec_.bus_bytes(reads, writes));
  if (!meters_) return;
  usages.add(meters_->reads, reads);
  usages.add(meters_->writes, writes);
}

void Memory::add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const {
  const double unevenness = busiest_share * spec_.xcds;
  usages.add(l2(), unevenness * l2_bytes);
  usages.add(ports_, unevenness * (beyond.reads + beyond.writes + beyond.updates));
  add_below_l2(usages, beyond);
}

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
