#include "models/collectives/direct.h"

#include <algorithm>
#include <utility>

#include "models/collectives/rccl_channels.h"
#include "models/collectives/rccl_transfers.h"
#include "models/node.h"

namespace c3sim::models {

ChannelProgram direct(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const RcclSpec& library = node.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec.kind);
  const double channels = static_cast<double>(library.channels(spec)) / spec.gpus;
  const sim::Bytes payload = payload_between(spec, 0, 1);
  ChannelDealing dealing;
  dealing.hops = collective.steps_per_peer * (spec.gpus - 1);
  dealing.loop_bytes = collective.loop_bytes;
  dealing.busiest = {payload, payload, channels};
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      if (from != to) dealing.transfers.push_back({from, to, channels, payload});
    }
  }
  return rccl_program(node, spec, mask, std::move(dealing));
}

}  // namespace c3sim::models
