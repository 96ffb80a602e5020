// In two shots every GPU loads its part of the array from all others and adds up; once all have done so, it loads the
// others' sums. Such an all-reduce moves no more than a ring, and waits twice.
#include "models/collectives/algorithm.h"
#include "models/collectives/channel_program.h"
#include "models/collectives/deliveries.h"
#include "models/node.h"

namespace c3sim::models::algorithms {

Algorithm two_shot() {
  return {
      .name = "two_shot",
      .about = "kernels that load from all peers at once, in two shots",
      .kinds = {CollectiveKind::all_reduce},
      // No last flags are needed: the first flags of the next kernel that uses the buffer of sums serve as these.
      .by_kernels = [](Node& node, const CollectiveSpec& spec, const CuMask&) {
        const sim::Bytes part = chunk(spec, 0, input_buffer, 0).bytes;
        ChannelProgram program = peer_load_program(node, spec);
        program.steps.push_back(peer_load_step(node, spec, PeerLoads::reduced, CollectiveKind::reduce_scatter, part));
        program.steps.push_back(peer_load_step(node, spec, PeerLoads::dealt, CollectiveKind::all_gather, part));
        program.steps.back().latency += node.spec().shots.fence_latency;
        return program;
      }};
}

}  // namespace c3sim::models::algorithms
