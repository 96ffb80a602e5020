#include "models/collectives/ring.h"

#include <algorithm>
#include <utility>

#include "models/collectives/rccl_channels.h"
#include "models/collectives/rccl_transfers.h"
#include "models/node.h"

namespace c3sim::models {
namespace {

// Returns the bytes that a channel's copy loop handles for each byte that arrives. A ring brings a channel all parts of
// the array except its GPU's own, which it sends first; it sends on all except the last. A broadcast is one stream.
double loop_bytes_per_arrival(const RcclCollectiveSpec& collective, CollectiveKind kind, double gpus) {
  const double last = collective.chunk ? collective.last_loop_bytes : collective.loop_bytes;
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return collective.loop_bytes + last / (gpus - 1.0);
    case CollectiveKind::all_reduce:
      return collective.loop_bytes + last / (2.0 * gpus - 2.0);
    default:
      return collective.loop_bytes;
  }
}

class Rings {
 public:
  Rings(Node& node, const CollectiveSpec& spec)
      : spec_(spec),
        channels_(node.spec().rccl.channels(spec)),
        of_link_(node.spec().rccl.rings_of_link(spec.gpus)),
        share_ports_(node.spec().fabric.topology == Topology::fabric_switch) {}

  // Returns the channels of the rings that use this link, which follow each other. The first rings have one more if
  // channels are left over.
  double channels_towards(int from, int to) const {
    const int links = spec_.gpus - 1;
    if (share_ports_) return static_cast<double>(channels_) / links;
    const int rings = of_link_ * links;
    const int first = of_link_ * ((to - from + spec_.gpus) % spec_.gpus - 1);
    return of_link_ * (channels_ / rings) + std::clamp(channels_ % rings - first, 0, of_link_);
  }
  sim::Bytes payload(int from, int to) const {
    return (spec_.gpus - 1) * channels_towards(from, to) / channels_ * payload_between(spec_, from, to);
  }
  // Returns the busiest link. Links of all GPUs are alike, except in a broadcast, where those of the source carry less.
  ChannelDealing::Link busiest_link(double reverse_share) const {
    ChannelDealing::Link busiest;
    const auto load = [reverse_share](const ChannelDealing::Link& link) {
      return link.payload.value() + reverse_share * link.back.value();
    };
    for (int from = 0; from < (spec_.kind == CollectiveKind::broadcast ? 2 : 1); ++from) {
      for (int to = from + 1; to < spec_.gpus; ++to) {
        const ChannelDealing::Link link{payload(from, to), payload(to, from), channels_towards(from, to)};
        if (load(link) > load(busiest)) busiest = link;
      }
    }
    return busiest;
  }

 private:
  const CollectiveSpec& spec_;
  int channels_;
  int of_link_;
  bool share_ports_;
};

}  // namespace

ChannelProgram ring(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const Rings rings(node, spec);
  const RcclCollectiveSpec& collective = node.spec().rccl.collective(spec.kind);
  ChannelDealing dealing;
  dealing.hops = collective.steps_per_peer * (spec.gpus - 1);
  dealing.loop_bytes = loop_bytes_per_arrival(collective, spec.kind, spec.gpus);
  // A broadcast goes down a chain, for which the tuner counts one hop.
  const bool chain = spec.kind == CollectiveKind::broadcast;
  RingRounds& rounds = dealing.rounds.emplace();
  rounds.tuned_hops = chain ? 1.0 : dealing.hops;
  rounds.parts = chain ? 1.0 : spec.gpus;
  rounds.in_step = !chain;
  rounds.filling_hops = chain ? spec.gpus - 2.0 : 0.0;
  dealing.busiest = rings.busiest_link(node.spec().fabric.reverse_share);
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      const double channels = from == to ? 0.0 : rings.channels_towards(from, to);
      if (channels > 0.0) dealing.transfers.push_back({from, to, channels, rings.payload(from, to)});
    }
  }
  return rccl_program(node, spec, mask, std::move(dealing));
}

}  // namespace c3sim::models
