// A ChannelProgram describes a collective by kernels as data: one kernel on every GPU, whose workgroups are channels,
// and what these move, step by step. An algorithm (algorithm.h) lays it out, and collective.h runs it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/kernels/demand.h"
#include "models/machine/delivery_ledger.h"
#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"
#include "models/platform/platform_spec.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

// A ChannelTransfer is what the channels of one GPU store into the memory of another, or load from there.
struct ChannelTransfer {
  int gpu = 0;  // the channels' GPU
  int peer = 0;
  double channels = 0.0;  // number of channels that take part
  sim::Bytes payload;
};

// ChannelRounds describe channels that go round by round, in step at first: links are idle at the ends of rounds.
struct ChannelRounds {
  sim::Bytes payload;        // per channel, in all rounds
  sim::BytesPerSecond link;  // rate of payload that the link to a peer lets through while it has work
  sim::Seconds idle;         // idle time of the links, in all rounds

  // Returns the highest mean rate at which `channels` channels send to a peer.
  sim::BytesPerSecond rate(double channels) const {
    const sim::Bytes all = channels * payload;
    return all / (all / link + idle);
  }
};

// Each channel begins a ChannelStep once all GPUs have done its step before.
struct ChannelStep {
  sim::Time latency{0};  // until data flows at full rate: dependent hops, flags
  Demand demand;         // per byte of payload, for any peer
  std::optional<ChannelRounds> rounds{};
  std::vector<ChannelTransfer> transfers;
  std::vector<Delivery> deliveries;  // complete at the end of the step; each channel has its share of every one
};

// CacheFills are the bytes that a collective fills at each level of caches per byte of payload, which flows at the full
// rate of a GPU's links.
struct CacheFills {
  double l2 = 0.0;
  double cache = 0.0;
};

struct ChannelProgram {
  int channels = 0;           // per GPU
  CuResources channel;        // what a channel needs of its CU
  std::string_view protocol;  // "ll"; empty if there is only one
  CacheFills fills;
  std::vector<ChannelStep> steps;  // transfers and deliveries of the simulated GPUs only
  sim::Time last_flags{0};         // until each GPU knows that no other needs its memory any more
  double late_placement = 1.0;     // share of the links' rate that channels placed while a GEMM runs get through
};

// One-shot and two-shot algorithms are built from kernels that load from all peers at once. Arrays lie where peers can
// reach them; a workgroup loads, lane by lane, the same places of all of them. Flags say when the arrays are ready and
// when they are no longer needed. vLLM's custom all-reduce works so (csrc/custom_all_reduce.cuh).

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
