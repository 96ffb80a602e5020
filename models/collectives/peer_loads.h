// Kernels that load from all peers at once: what algorithms of one and of two shots are made of. Arrays lie where peers
// can reach them; a workgroup loads, lane by lane, the same places of all of them. Flags say when the arrays are there
// and when they are no longer needed. As vLLM's custom all-reduce does (csrc/custom_all_reduce.cuh).
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"
#include "models/platform/shot_spec.h"

namespace c3sim::models {

class Node;

// Workgroups of such a kernel on one GPU: enough for one pass over the array, up to those that it may have.
int peer_load_workgroups(const CollectiveSpec& spec, const ShotSpec& shots);

// A kernel without steps yet.
ChannelProgram peer_load_program(Node& node, const CollectiveSpec& spec);

enum class PeerLoads {
  reduced,   // every lane loads from all peers at once, adds to the own part and stores the sum
  gathered,  // every lane loads from all peers at once and stores each part where it goes
  dealt      // gathered by lanes that are dealt to the peers
};
// A step in which every GPU loads so much from each of its peers and so delivers what a collective of that kind is due.
ChannelStep peer_load_step(Node& node, const CollectiveSpec& spec, PeerLoads loads, CollectiveKind kind,
                           sim::Bytes from_each);

}  // namespace c3sim::models
