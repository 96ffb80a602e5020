#include "models/collectives/channel_program.h"

#include <algorithm>
#include <cmath>

#include "models/collectives/deliveries.h"
#include "models/node.h"

namespace c3sim::models {
namespace {

// Returns the demand of a byte from one peer. One of all peers' bytes goes with a byte of the GPU's own part, which is
// read and stored.
Demand demand_of(Node& node, PeerLoads loads, int peers) {
  const double own = 1.0 / peers;
  Demand demand;
  const Traffic here{own, loads == PeerLoads::reduced ? own : 1.0 + own, 0.0};
  demand.own = {here.reads + here.writes, here, {}};
  PeerDemand& peer = demand.peer.emplace();
  peer.link_bytes = 1.0;
  peer.pulled = true;
  peer.memory.below_l2 = {1.0, 0.0, 0.0};
  demand.in_flight = node.spec().shots.pass;
  demand.waits = true;
  demand.waits_for_own = false;
  demand.step_latency = 2 * node.fabric().route(0, 1).latency + node.spec().shots.loop_latency;
  return demand;
}

}  // namespace

int peer_load_workgroups(const CollectiveSpec& spec, const ShotSpec& shots) {
  const double passes = std::ceil(spec.bytes / shots.pass);
  return static_cast<int>(std::min<double>(spec.channels.value_or(shots.workgroups), passes));
}

ChannelProgram peer_load_program(Node& node, const CollectiveSpec& spec) {
  ChannelProgram program;
  program.channels = peer_load_workgroups(spec, node.spec().shots);
  program.channel = node.spec().shots.workgroup;
  const double own = 1.0 / (spec.gpus - 1);
  program.fills = {2.0 * own, 1.0 + 2.0 * own};
  return program;
}

ChannelStep peer_load_step(Node& node, const CollectiveSpec& spec, PeerLoads loads, CollectiveKind kind,
                           sim::Bytes from_each) {
  const ShotSpec& shots = node.spec().shots;
  const int peers = spec.gpus - 1;
  const int gpus = std::min(spec.gpus, node.simulated());
  // Workgroups beyond the first pass have nothing to load.
  const double part_of_lanes = loads == PeerLoads::dealt ? 1.0 / peers : 1.0;
  const double workgroups = std::min(part_of_lanes * peer_load_workgroups(spec, shots), from_each / shots.pass);
  ChannelStep step;
  step.latency = shots.flag_latency;
  step.demand = demand_of(node, loads, peers);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int peer = 0; peer < spec.gpus; ++peer) {
      if (peer != gpu) step.transfers.push_back({gpu, peer, workgroups, from_each});
    }
  }
  step.deliveries = deliveries_by(kind, spec, gpus);
  return step;
}

}  // namespace c3sim::models
