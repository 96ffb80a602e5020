#include "models/collectives/one_shot.h"

#include "models/collectives/deliveries.h"
#include "models/collectives/peer_loads.h"
#include "models/node.h"

namespace c3sim::models {

ChannelProgram one_shot(Node& node, const CollectiveSpec& spec) {
  const bool stores_each = spec.kind == CollectiveKind::all_gather || spec.kind == CollectiveKind::all_to_all;
  const PeerLoads loads = stores_each ? PeerLoads::gathered : PeerLoads::reduced;
  const sim::Bytes from_each = deliveries(spec.kind, spec, 1, 0).front().source.bytes;
  ChannelProgram program = peer_load_program(node, spec);
  program.steps.push_back(peer_load_step(node, spec, loads, spec.kind, from_each));
  program.last_flags = node.spec().shots.flag_latency;
  return program;
}

}  // namespace c3sim::models
