#include "models/collectives/rccl_plan.h"

#include <algorithm>

#include "models/collectives/rccl_transfers.h"
#include "models/node.h"

namespace c3sim::models {

namespace {
constexpr int full_node = 8;  // what RcclCollectiveSpec::steps and loop_bytes count for

// Parts that a channel handles for each that arrives. In an exchange channels idle instead; a broadcast is one stream.
double parts_per_arrival(CollectiveKind kind, double gpus) {
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return gpus / (gpus - 1.0);
    case CollectiveKind::all_reduce:
      return (2.0 * gpus - 1.0) / (2.0 * gpus - 2.0);
    default:
      return 1.0;
  }
}
}  // namespace

RcclPlan::RcclPlan(Node& node, const CollectiveSpec& spec, int slots)
    : spec_(spec),
      topology_(node.spec().fabric.topology),
      collective_(node.spec().rccl.collective(spec.kind)),
      channels_(node.spec().rccl.channels(spec.kind, spec.channels)) {
  const auto time = [&](const RcclProtocolSpec& protocol) { return time_of(protocol, node, slots).value(); };
  protocol_ = &*std::ranges::min_element(node.spec().rccl.protocols, {}, time);
}

double RcclPlan::channels_towards(int from, int to) const {
  if (spec_.kind == CollectiveKind::all_to_all) return static_cast<double>(channels_) / spec_.gpus;
  const int rings = spec_.gpus - 1;
  if (topology_ == Topology::fabric_switch) return static_cast<double>(channels_) / rings;
  const int ring = (to - from + spec_.gpus) % spec_.gpus - 1;
  const int of_each = channels_ / rings;
  return of_each + (ring < channels_ % rings ? 1 : 0);
}

int RcclPlan::links() const {
  int links = 0;
  for (int to = 1; to < spec_.gpus; ++to) links += channels_towards(0, to) > 0.0 ? 1 : 0;
  return links;
}

sim::Bytes RcclPlan::payload(int from, int to) const {
  const sim::Bytes even = payload_between(spec_, from, to);
  if (spec_.kind == CollectiveKind::all_to_all) return even;
  return (spec_.gpus - 1) * channels_towards(from, to) / channels_ * even;
}

double RcclPlan::loop_bytes() const {
  return collective_.loop_bytes * parts_per_arrival(spec_.kind, spec_.gpus) / parts_per_arrival(spec_.kind, full_node);
}

sim::Time RcclPlan::latency_of(const RcclProtocolSpec& protocol) const {
  const double steps = collective_.steps * (spec_.gpus - 1) / (full_node - 1);
  return sim::to_time(steps * sim::to_seconds(protocol.step_latency));
}

// Of the busiest link, that of the first ring. Channels that find no room come after the others.
sim::Seconds RcclPlan::time_of(const RcclProtocolSpec& protocol, Node& node, int slots) const {
  sim::Seconds time;
  for (int left = channels_; left > 0; left -= slots) {
    const double part = static_cast<double>(std::min(left, slots)) / channels_;
    time += sim::to_seconds(latency_of(protocol));
    time += part * payload(0, 1) / link_rate(protocol, node, part * channels_towards(0, 1));
  }
  return time;
}

// What so many channels send over one link: Little's law, with the latency that their load makes of the link's.
sim::BytesPerSecond RcclPlan::link_rate(const RcclProtocolSpec& protocol, Node& node, double channels) const {
  const RcclSpec& library = node.spec().rccl;
  const FabricSpec& fabric = node.spec().fabric;
  const bool pulls = library.access == RcclAccess::load;
  const sim::Time memory = node.gpu(0).memory().latency(0.0);
  const sim::LoadedLatency link = pulls ? sim::LoadedLatency{} : fabric.link_latency();
  const double sharers = topology_ == Topology::fabric_switch ? spec_.gpus - 1 : 1;
  const bool one_way = spec_.kind == CollectiveKind::broadcast && spec_.gpus == 2;
  const double acknowledged = one_way ? 0.0 : fabric.reverse_share;  // what comes back over the same link
  sim::BytesPerSecond full = protocol.link_efficiency / (1.0 + acknowledged) / sharers * fabric.link_rate;
  if (pulls) {
    const sim::Seconds round_trip = sim::to_seconds(2 * fabric.latency + memory);
    full = std::min(full, protocol.link_efficiency / (spec_.gpus - 1) * fabric.reads_in_flight / round_trip);
  }
  const sim::Bytes under_way = channels / loop_bytes() * library.workgroup_in_flight;
  const sim::Seconds loop = sim::to_seconds(library.workgroup_latency + 2 * memory);
  double load = 0.0;  // the highest that the channels make
  for (double step = 0.5; step > 1e-6; step *= 0.5) {
    if (under_way / (loop + link.at(load + step)) >= (load + step) * full) load += step;
  }
  return std::min(under_way / (loop + link.at(load)), full);
}

}  // namespace c3sim::models
