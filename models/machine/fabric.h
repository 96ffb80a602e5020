// The links between GPUs (a full mesh, or ports of a switch) and from each GPU to the host. Each direction of a link is
// a resource of its own. Acknowledgements and requests take a little of the opposite direction. Kernels that read from
// other GPUs meet one more limit: a GPU can have only so many bytes of reads outstanding, each for a round trip.
#pragma once

#include <string>
#include <vector>

#include "models/machine/usage_list.h"
#include "models/platform/fabric_spec.h"
#include "models/platform/interference.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class Fabric {
 public:
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network) : Fabric(spec, network, spec.gpus) {}
  // `simulated`: how many GPUs are simulated. All of them, or only the first, where it stands for all (see Node); its
  // links to the others then carry, in both directions, what the links of every GPU carry.
  Fabric(const FabricSpec& spec, sim::ResourceNetwork& network, int simulated, Mechanisms without = {});

  // `bytes` of payload per unit of progress are pushed from one GPU to another (0 <= from, to < gpus, from != to).
  void add(UsageList& usages, int from, int to, double bytes) const;
  // The same pulled by a kernel of `reader` out of the memory of `owner`, which answers after `memory_latency`.
  void add_read(UsageList& usages, int reader, int owner, double bytes, sim::Time memory_latency) const;
  void add_to_host(UsageList& usages, int gpu, double bytes) const;
  void add_from_host(UsageList& usages, int gpu, double bytes) const;

  const FabricSpec& spec() const { return spec_; }
  // Every resource that carries what one GPU sends to or receives from the others.
  std::vector<sim::ResourceNetwork::ResourceId> ports(int gpu) const;
  // What one GPU can send to all others at once.
  sim::BytesPerSecond rate_out() const;
  // The directed link (mesh) or the sender's port (switch) that payload from one GPU to another leaves by.
  sim::ResourceNetwork::ResourceId link(int from, int to) const;

 private:
  void add_payload(UsageList& usages, int from, int to, double bytes, double reverse_bytes) const;
  int stand_in(int gpu) const { return gpu < simulated_ ? gpu : 0; }

  FabricSpec spec_;
  int simulated_;
  std::vector<sim::ResourceNetwork::ResourceId> out_;  // mesh: from * gpus + to; switch: by GPU
  std::vector<sim::ResourceNetwork::ResourceId> in_;   // switch: by GPU
  // Per GPU: outstanding remote reads, as a resource. Its capacity is reads_in_flight / 1 us. A byte whose round trip
  // takes t us uses t units of it, so rate x t <= capacity, which is Little's law.
  std::vector<sim::ResourceNetwork::ResourceId> reads_;
  std::vector<sim::ResourceNetwork::ResourceId> to_host_;
  std::vector<sim::ResourceNetwork::ResourceId> from_host_;
};

}  // namespace c3sim::models
