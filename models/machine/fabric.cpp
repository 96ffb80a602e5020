#include "models/machine/fabric.h"

#include <utility>

#include "models/platform/device.h"

namespace c3sim::models {
namespace {
std::size_t index(int i) { return static_cast<std::size_t>(i); }
}  // namespace

Fabric::Fabric(const FabricSpec& spec, sim::ResourceNetwork& network, int simulated, Mechanisms without)
    : spec_(spec), simulated_(simulated) {
  const auto add = [&](ResourceKind kind, std::string name, double rate, const sim::LoadedLatency& latency = {}) {
    return add_resource(network, kind, std::move(name), rate, latency, apart(kind, without));
  };
  const sim::LoadedLatency queue = spec.link_latency();
  const double rate = spec.link_rate.value();
  for (int from = 0; from < simulated; ++from) {
    if (spec.topology == Topology::fabric_switch) {
      out_.push_back(add(ResourceKind::link, device_name(from) + ".port_out", rate, queue));
      in_.push_back(add(ResourceKind::link, device_name(from) + ".port_in", rate));
    } else {
      for (int to = 0; to < spec.gpus; ++to) {
        // The diagonal is unused and keeps the index simple.
        out_.push_back(add(ResourceKind::link, device_name(from) + ".link_to_" + device_name(to), rate, queue));
      }
    }
    const double places = (spec.reads_in_flight / sim::to_seconds(std::chrono::microseconds(1))).value();
    reads_.push_back(add(ResourceKind::remote_reads, device_name(from) + ".remote_reads", places));
    to_host_.push_back(add(ResourceKind::host_link, device_name(from) + ".to_host", spec.device_to_host_rate.value()));
    from_host_.push_back(
        add(ResourceKind::host_link, device_name(from) + ".from_host", spec.host_to_device_rate.value()));
  }
}

Route Fabric::route(int from, int to) const {
  Route route;
  const auto pass = [&route](sim::ResourceId resource, bool back) { route.hops[route.count++] = {resource, back}; };
  if (from == to) return route;
  if (from == host_device || to == host_device) {
    route.latency = spec_.host_latency;
    pass(to == host_device ? to_host_[index(stand_in(from))] : from_host_[index(stand_in(to))], false);
    return route;
  }
  route.latency = spec_.latency;
  pass(link(from, to), false);
  pass(link(to, from), true);
  if (spec_.topology == Topology::fabric_switch) {
    pass(in_[index(stand_in(to))], false);
    pass(in_[index(stand_in(from))], true);
  }
  return route;
}

void Fabric::add(UsageList& usages, int from, int to, double bytes) const {
  const Route way = route(from, to);
  for (const Route::Hop& hop : way.all()) {
    usages.add(hop.resource, hop.back ? bytes * spec_.reverse_share : bytes);
  }
}

void Fabric::add_read(UsageList& usages, int reader, int owner, double bytes, sim::Time memory_latency) const {
  const Route way = route(owner, reader);
  for (const Route::Hop& hop : way.all()) {
    usages.add(hop.resource, bytes * (hop.back ? spec_.reverse_share : spec_.read_cost));
  }
  const sim::Time round_trip = 2 * way.latency + memory_latency;
  usages.add(reads_[index(stand_in(reader))], bytes * sim::to_microseconds(round_trip));
}

std::vector<sim::ResourceId> Fabric::ports(int gpu) const {
  if (spec_.topology == Topology::fabric_switch) return {out_[index(gpu)], in_[index(gpu)]};
  std::vector<sim::ResourceId> links;
  for (int peer = 0; peer < spec_.gpus; ++peer) {
    if (peer == gpu) continue;
    links.push_back(link(gpu, peer));
    links.push_back(link(peer, gpu));
  }
  return links;
}

sim::ResourceId Fabric::link(int from, int to) const {
  if (spec_.topology == Topology::fabric_switch) return out_[index(stand_in(from))];
  // The GPU that stands for all receives from a peer exactly what it sends to that peer.
  if (from >= simulated_) std::swap(from, to);
  return out_[index(from * spec_.gpus + to)];
}

}  // namespace c3sim::models
