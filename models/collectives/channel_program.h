// A ChannelProgram describes a collective by kernels as data: one kernel on every GPU, whose workgroups are channels,
// and what these move, step by step. An algorithm (algorithm.h) lays it out, and kernel_collective.h runs it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/collectives/stream_fill.h"
#include "models/kernels/demand.h"
#include "models/machine/delivery_ledger.h"
#include "models/platform/cu_resources.h"
#include "sim/units.h"

namespace c3sim::models {

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

struct ChannelProgram {
  int channels = 0;           // per GPU
  CuResources channel;        // what a channel needs of its CU
  std::string_view protocol;  // "ll"; empty if there is only one
  StreamFill::PerPayload fills;
  std::vector<ChannelStep> steps;  // transfers and deliveries of the simulated GPUs only
  sim::Time last_flags{0};         // until each GPU knows that no other needs its memory any more
  double late_placement = 1.0;     // share of the links' rate that channels placed while a GEMM runs get through
};

}  // namespace c3sim::models
