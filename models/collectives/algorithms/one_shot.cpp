// In one shot every GPU loads all that it needs from the others. An all-reduce moves the whole array from each peer:
// over n GPUs n/2 times as much as a ring, but it waits only once, which suits small arrays.
#include "models/collectives/algorithm.h"
#include "models/collectives/channel_program.h"
#include "models/collectives/deliveries.h"
#include "models/node.h"

namespace c3sim::models::algorithms {

Algorithm one_shot() {
  using enum CollectiveKind;
  return {.name = "one_shot",
          .about = "kernels that load from all peers at once, in one shot",
          .kinds = {all_gather, all_to_all, all_reduce, reduce_scatter},
          .by_kernels =
              [](Node& node, const CollectiveSpec& spec, const CuMask&) {
                const bool stores_each = spec.kind == all_gather || spec.kind == all_to_all;
                const PeerLoads loads = stores_each ? PeerLoads::gathered : PeerLoads::reduced;
                const sim::Bytes from_each = deliveries(spec.kind, spec, 1, 0).front().source.bytes;
                ChannelProgram program = peer_load_program(node, spec);
                program.steps.push_back(peer_load_step(node, spec, loads, spec.kind, from_each));
                program.last_flags = node.spec().shots.flag_latency;
                return program;
              },
          .loads_addends = true};
}

}  // namespace c3sim::models::algorithms
