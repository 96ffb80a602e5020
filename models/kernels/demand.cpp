#include "models/kernels/demand.h"

#include <algorithm>
#include <iterator>

#include "models/node.h"
#include "models/platform/device.h"

namespace c3sim::models {
namespace {

void add_memory(UsageList& usages, const Memory& memory, const MemoryDemand& demand, double busiest_share) {
  if (demand.l2 > 0.0) memory.add_from_xcds(usages, busiest_share, demand.l2, demand.beyond_l2);
  if (demand.below_l2.reads + demand.below_l2.writes + demand.below_l2.updates > 0.0)
    memory.add_below_l2(usages, demand.below_l2);
}

void add_peer(UsageList& usages, Node& node, int gpu, const PeerDemand& peer) {
  if (peer.gpu == host_device) {
    node.fabric().add(usages, peer.pulled ? host_device : gpu, peer.pulled ? gpu : host_device, peer.link_bytes);
    return;
  }
  const Memory& memory = node.gpu(peer.gpu).memory();
  Fabric& fabric = node.fabric();
  if (peer.pulled) {
    fabric.add_read(usages, gpu, peer.gpu, peer.link_bytes, memory.latency(peer.reads_that_hit));
  } else {
    fabric.add(usages, gpu, peer.gpu, fabric.spec().write_cost * peer.link_bytes);
  }
}

// Returns the latency of a copy loop beyond that of the path, whose resources add their own loaded latency. The share
// of the loop that is cycles becomes longer below the rated clock, and shorter above it.
sim::Time fixed_latency(const Demand& demand, sim::Time path, const PowerGovernor& governor) {
  const double longer = demand.cycles * (governor.slowdown() - 1.0);
  return std::max(sim::Time(0),
                  demand.step_latency + sim::to_time(longer * sim::to_seconds(demand.step_latency + path)));
}

// Returns the units per second that the memory of the GPU lets through of the whole kernel.
double let_through(const Demand& demand, const MemorySpec& memory) {
  const Traffic& beyond = demand.own.beyond_l2;
  const double misses = 1.0 - beyond.cache_hits;
  double seconds = memory.bus_bytes(misses * beyond.reads, misses * beyond.writes) / memory.hbm_rate.value();
  if (memory.has_cache())
    seconds = std::max(seconds, memory.cache_bytes(beyond.reads, beyond.writes) / memory.cache_rate.value());
  return 1.0 / seconds;
}

}  // namespace

Demand moving_demand(int peer, bool pulled) {
  const Traffic read{1.0, 0.0, 0.0};
  const Traffic written{0.0, 1.0, 0.0};
  Demand demand;
  demand.own = {1.0, pulled ? written : read, {}};
  PeerDemand& other = demand.peer.emplace(PeerDemand{.gpu = peer, .link_bytes = 1.0, .pulled = pulled, .memory = {}});
  if (peer != host_device) other.memory.below_l2 = pulled ? read : written;
  demand.waits = true;
  return demand;
}

void hold_of_turn(Demand& demand, const MemorySpec& memory, sim::Bytes set, int xcds) {
  const double in_l2 = memory.held_in_l2_of_turn(set, xcds);
  const double in_cache = std::max(in_l2, memory.held_of_turn(set));
  demand.loads_beyond_l2 = 1.0 - in_l2;
  demand.loads_beyond_cache = 1.0 - in_cache;
  demand.own.beyond_l2.reads *= 1.0 - in_l2;
  demand.own.beyond_l2.writes *= 1.0 - in_l2;
  if (in_l2 < 1.0) demand.own.beyond_l2.cache_hits = (in_cache - in_l2) / (1.0 - in_l2);
  const sim::Time of_l2 = set <= memory.l2_capacity ? memory.l2_latency : memory.l2_far_latency;
  demand.step_latency += sim::to_time(in_l2 * sim::to_seconds(of_l2));
}

Bend bend_of(const Demand& demand, const MemorySpec& memory, const Portion& portion) {
  if (demand.knee <= 0.0) return {};
  return {portion.share * let_through(demand, memory), demand.knee};
}

sim::ActivitySpec activity_of(Node& node, int gpu, const Demand& demand, const Portion& portion, ActivityTag tag) {
  const Memory& own = node.gpu(gpu).memory();
  const PowerGovernor& governor = node.gpu(gpu).governor(tag.tenant);
  UsageList usages;
  if (demand.peer) add_peer(usages, node, gpu, *demand.peer);
  add_memory(usages, own, demand.own, portion.busiest_share);
  if (demand.matrix_per_cycle > 0.0) own.add_bursts(usages, portion.busiest_share, demand.own.l2);
  const bool to_gpu = demand.peer && demand.peer->gpu != host_device;
  if (to_gpu) {
    const Memory& there = node.gpu(demand.peer->gpu).memory();
    add_memory(usages, there, demand.peer->memory, there.evenly_spread());
  }
  sim::ActivitySpec activity{.usages = std::move(usages).take(), .tag = tag.packed()};
  const double under_way = portion.requests * demand.in_flight.value() / demand.bytes_per_unit;
  if (under_way > 0.0) {
    activity.weight = is_collective(tag.tenant) ? own.collective_weight(under_way) : under_way;
  }
  activity.cap = demand.cap;
  if (demand.matrix_per_cycle > 0.0) {
    activity.cap = std::min(activity.cap, portion.pipes * demand.matrix_per_cycle * governor.clock().value());
  }
  if (!demand.waits) return activity;
  activity.in_flight = under_way;
  sim::Time path{0};
  sim::Time spared{0};  // part of the unloaded latency, which the path's resources add, that not all loads see
  if (demand.waits_for_own) {
    path += own.latency(0.0);
    activity.latency_path = own.latency_path();
    if (demand.loads_beyond_cache < 1.0) {
      // A level adds its latency for the share of loads that see it. Levels that no load sees leave the path.
      const double cached = demand.loads_beyond_l2 - demand.loads_beyond_cache;
      path = sim::to_time(cached * sim::to_seconds(own.latency(1.0)) +
                          demand.loads_beyond_cache * sim::to_seconds(own.latency(0.0)));
      spared = own.latency(0.0) - path;
      if (demand.loads_beyond_cache <= 0.0) {
        std::erase(activity.latency_path, own.hbm());
        spared -= own.latency(0.0) - own.latency(1.0);
      }
      if (demand.loads_beyond_l2 <= 0.0) {
        activity.latency_path.clear();
        spared = sim::Time(0);
      }
    }
    if (own.bursts()) activity.latency_path.push_back(*own.bursts());
  }
  if (to_gpu && demand.waits_for_peer) {
    const Memory& there = node.gpu(demand.peer->gpu).memory();
    std::ranges::copy(there.latency_path(), std::back_inserter(activity.latency_path));
    path += there.latency(0.0);
    const Fabric& fabric = node.fabric();
    if (fabric.spec().queueing > 0.0 && !demand.peer->pulled) {
      activity.latency_path.push_back(fabric.link(gpu, demand.peer->gpu));
      path += fabric.spec().link_latency().unloaded;
    }
  }
  activity.fixed_latency = std::max(sim::Time(0), fixed_latency(demand, path, governor) - spared);
  if (demand.queue_knee > 0.0) {
    const double unqueued = sim::to_seconds(activity.fixed_latency + path).value();
    const Bend bend{portion.share * let_through(demand, own.spec()), demand.queue_knee};
    activity.cap = std::min(activity.cap, bend.of(under_way / unqueued));
  }
  return activity;
}

}  // namespace c3sim::models
