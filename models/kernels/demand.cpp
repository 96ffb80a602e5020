#include "models/kernels/demand.h"

#include <algorithm>
#include <iterator>

#include "models/node.h"

namespace c3sim::models {

namespace {

void add_memory(UsageList& usages, const Memory& memory, const MemoryDemand& demand, double busiest_share) {
  if (demand.l2 > 0.0) memory.add_from_xcds(usages, busiest_share, demand.l2, demand.beyond_l2);
  if (demand.below_l2.reads + demand.below_l2.writes > 0.0) memory.add_below_l2(usages, demand.below_l2);
}

void add_peer(UsageList& usages, Node& node, int gpu, const PeerDemand& peer) {
  const Memory& memory = node.gpu(peer.gpu).memory();
  Fabric& fabric = node.fabric();
  if (peer.pulled) {
    fabric.add_read(usages, gpu, peer.gpu, peer.link_bytes, memory.latency(peer.reads_that_hit));
  } else {
    fabric.add(usages, gpu, peer.gpu, peer.link_bytes);
  }
}

// A share of the latency of a copy loop is its cycles: what slows the clock makes them longer.
sim::Time latency_of(const Demand& demand, const PowerGovernor& governor) {
  const double longer = 1.0 - demand.cycles_of_latency + demand.cycles_of_latency * governor.slowdown();
  return sim::to_time(longer * sim::to_seconds(demand.step_latency));
}

}  // namespace

sim::ActivitySpec activity_of(Node& node, int gpu, const Demand& demand, const Portion& portion, ActivityTag tag) {
  const Memory& own = node.gpu(gpu).memory();
  const PowerGovernor& governor = node.gpu(gpu).governor(tag.tenant);
  UsageList usages;
  if (demand.peer) add_peer(usages, node, gpu, *demand.peer);
  add_memory(usages, own, demand.own, portion.busiest_share);
  if (demand.peer) {
    const Memory& there = node.gpu(demand.peer->gpu).memory();
    add_memory(usages, there, demand.peer->memory, there.evenly_spread());
  }
  sim::ActivitySpec activity;
  activity.tag = tag.packed();
  activity.usages = std::move(usages).take();
  const double under_way = portion.requests * demand.in_flight.value() / demand.bytes_per_unit;
  if (under_way > 0.0) {
    activity.weight = tag.tenant == Tenant::gemm ? under_way : own.collective_weight(under_way);
  }
  activity.cap = demand.cap;
  for (const double per_cycle : {demand.matrix_per_cycle, demand.vector_per_cycle}) {
    if (per_cycle > 0.0) activity.cap = std::min(activity.cap, portion.pipes * per_cycle * governor.clock().value());
  }
  if (!demand.waits) return activity;
  activity.in_flight = under_way;
  activity.fixed_latency = latency_of(demand, governor);
  activity.latency_path = own.latency_path();
  if (demand.peer) {
    std::ranges::copy(node.gpu(demand.peer->gpu).memory().latency_path(), std::back_inserter(activity.latency_path));
  }
  return activity;
}

}  // namespace c3sim::models
