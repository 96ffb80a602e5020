// The links between GPUs (a full mesh, or ports of a switch) and from each GPU to the host. Each direction of a link is
// a resource of its own. Acknowledgements and requests take a little of the opposite direction. Kernels that read from
// other GPUs meet one more limit: a GPU can have only so many bytes of reads outstanding, each for a round trip.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "models/machine/usage_list.h"
#include "models/platform/fabric_spec.h"
#include "models/platform/interference.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// The way of data from one device to another: resources of the fabric, and how long a byte is under way.
struct Route {
  struct Hop {
    sim::ResourceId resource = 0;
    bool back = false;  // carries what the receiver sends in return: acknowledgements, requests
  };
  std::array<Hop, 4> hops;
  std::size_t count = 0;
  sim::Time latency{0};

  std::span<const Hop> all() const { return std::span(hops).first(count); }
};

class Fabric {
 public:
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network) : Fabric(spec, network, spec.gpus) {}
  // `simulated`: how many GPUs are simulated. All of them, or only the first, where it stands for all (see Node); its
  // links to the others then carry, in both directions, what the links of every GPU carry.
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network, int simulated, Mechanisms without = {});

  // Between GPUs, and between a GPU and the host (models/platform/device.h); none from a device to itself.
  Route route(int from, int to) const;
  // `bytes` of payload per unit of progress are pushed from one device to another.
  void add(UsageList& usages, int from, int to, double bytes) const;
  // The same pulled by a kernel of the GPU `reader` out of the memory of the GPU `owner`, which answers after
  // `memory_latency`.
  void add_read(UsageList& usages, int reader, int owner, double bytes, sim::Time memory_latency) const;

  const FabricSpec& spec() const { return spec_; }
  // Every resource that carries what one GPU sends to or receives from the others.
  std::vector<sim::ResourceId> ports(int gpu) const;
  // What one GPU can send to all others at once.
  sim::BytesPerSecond rate_out() const;
  // The directed link (mesh) or the sender's port (switch) that payload from one GPU to another leaves by.
  sim::ResourceId link(int from, int to) const;

 private:
  int stand_in(int gpu) const { return gpu < simulated_ ? gpu : 0; }

  FabricSpec spec_;
  int simulated_;
  std::vector<sim::ResourceId> out_;  // mesh: from * gpus + to; switch: by GPU
  std::vector<sim::ResourceId> in_;   // switch: by GPU
  // Per GPU: outstanding remote reads, as a resource. Its capacity is reads_in_flight / 1 us. A byte whose round trip
  // takes t us uses t units of it, so rate x t <= capacity, which is Little's law.
  std::vector<sim::ResourceId> reads_;
  std::vector<sim::ResourceId> to_host_;
  std::vector<sim::ResourceId> from_host_;
};

}  // namespace c3sim::models
