// One-shot and two-shot algorithms are built from kernels that load from all peers at once. Arrays lie where peers can
// reach them; a workgroup loads, lane by lane, the same places of all of them. Flags say when the arrays are ready and
// when they are no longer needed. vLLM's custom all-reduce works so (csrc/custom_all_reduce.cuh).
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"
#include "models/platform/platform_spec.h"

namespace c3sim::models {

class Node;

// Returns the workgroups of such a kernel on one GPU: enough for one pass over the array, up to the permitted number.
int peer_load_workgroups(const CollectiveSpec& spec, const ShotSpec& shots);

// Returns a program that has no steps yet.
ChannelProgram peer_load_program(Node& node, const CollectiveSpec& spec);

enum class PeerLoads {
  reduced,   // every lane loads from all peers at once, adds to the own part and stores the sum
  gathered,  // every lane loads from all peers at once and stores each part in its place
  dealt      // as gathered, but the lanes are dealt to the peers
};
// Returns a step in which every GPU loads `from_each` from each of its peers, which makes the deliveries of `kind`.
ChannelStep peer_load_step(Node& node, const CollectiveSpec& spec, PeerLoads loads, CollectiveKind kind,
                           sim::Bytes from_each);

}  // namespace c3sim::models
