#include "models/collectives/two_shot.h"

#include "models/collectives/deliveries.h"
#include "models/collectives/peer_loads.h"
#include "models/node.h"

namespace c3sim::models {

// No last flags are needed: the first flags of the next kernel that uses the buffer of sums serve as these.
ChannelProgram two_shot(Node& node, const CollectiveSpec& spec) {
  const sim::Bytes part = chunk(spec, 0, input_buffer, 0).bytes;
  ChannelProgram program = peer_load_program(node, spec);
  program.steps.push_back(peer_load_step(node, spec, PeerLoads::reduced, CollectiveKind::reduce_scatter, part));
  program.steps.push_back(peer_load_step(node, spec, PeerLoads::dealt, CollectiveKind::all_gather, part));
  program.steps.back().latency += node.spec().shots.fence_latency;
  return program;
}

}  // namespace c3sim::models
