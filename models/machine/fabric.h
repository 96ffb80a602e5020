// A Fabric has the links between GPUs (a full mesh, or ports of a switch) and from each GPU to the host. Each direction
// of a link is a resource; acknowledgements and requests take a little of the opposite direction. Kernels that read
// from other GPUs meet one more limit: the bytes of reads that a GPU can have outstanding, each for a round trip.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "models/machine/resource_kind.h"
#include "models/platform/interference.h"
#include "models/platform/platform_spec.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// A Route holds the resources of the fabric that data passes from one device to another, and the latency of a byte.
struct Route {
  struct Hop {
    sim::ResourceId resource = 0;
    bool back = false;  // the hop carries the receiver's acknowledgements and requests
  };
  std::array<Hop, 4> hops;
  std::size_t count = 0;
  sim::Time latency{0};

  std::span<const Hop> all() const { return std::span(hops).first(count); }
};

class Fabric {
 public:
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network) : Fabric(spec, network, spec.gpus) {}
  // `simulated` is the number of simulated GPUs: all, or 1 if GPU 0 stands for all (see Node). The links of GPU 0 then
  // carry, in both directions, what the links of every GPU carry.
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network, int simulated, Mechanisms without = {});

  // Returns the route between two GPUs, or between a GPU and host_device; it has no hops from a device to itself.
  Route route(int from, int to) const;
  // Adds the usages of `bytes` of payload per unit of progress that one device pushes to another.
  void add(UsageList& usages, int from, int to, double bytes) const;
  // Adds the usages of `bytes` per unit of progress that a kernel of the GPU `reader` loads from the memory of the GPU
  // `owner`, which answers after `memory_latency`.
  void add_read(UsageList& usages, int reader, int owner, double bytes, sim::Time memory_latency) const;

  const FabricSpec& spec() const { return spec_; }
  // Returns every resource that carries what one GPU sends to or receives from the others.
  std::vector<sim::ResourceId> ports(int gpu) const;
  // Returns the rate at which one GPU can send to all others at once.
  sim::BytesPerSecond rate_out() const {
    return spec_.topology == Topology::fabric_switch ? spec_.link_rate : (spec_.gpus - 1) * spec_.link_rate;
  }
  // Returns the directed link (mesh) or the sender's port (switch) by which payload for another GPU leaves.
  sim::ResourceId link(int from, int to) const;

 private:
  int stand_in(int gpu) const { return gpu < simulated_ ? gpu : 0; }

  FabricSpec spec_;
  int simulated_;
  std::vector<sim::ResourceId> out_;  // mesh: from * gpus + to; switch: by GPU
  std::vector<sim::ResourceId> in_;   // switch: by GPU
  // Outstanding remote reads are a resource of each GPU with a capacity of reads_in_flight / 1 us. A byte whose round
  // trip takes t us uses t units of it, so rate x t <= capacity, which is Little's law.
  std::vector<sim::ResourceId> reads_;
  std::vector<sim::ResourceId> to_host_;
  std::vector<sim::ResourceId> from_host_;
};

}  // namespace c3sim::models
