// What a collective by kernels does, as data: one kernel on every GPU, whose workgroups are channels, and what these
// move, step by step. Each algorithm lays one out in a file of its own; algorithm.h names them, kernel_collective.h
// carries them out.
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

// What the channels of one GPU store into the memory of another, or load from there.
struct ChannelTransfer {
  int gpu = 0;  // whose channels they are
  int peer = 0;
  double channels = 0.0;  // that are at it
  sim::Bytes payload;
};

// Channels that go round by round, in step at first, leave the links without work at the ends of rounds.
struct ChannelRounds {
  sim::Bytes payload;        // of a channel, in all rounds
  sim::BytesPerSecond link;  // of payload, that the link to a peer lets through while it has work
  sim::Seconds idle;         // of the links, in all rounds

  // The most that so many channels send to a peer, on average.
  sim::BytesPerSecond rate(double channels) const {
    const sim::Bytes all = channels * payload;
    return all / (all / link + idle);
  }
};

// For each channel a step begins once all GPUs have done the step before.
struct ChannelStep {
  sim::Time latency{0};  // until data flows at full rate: hops that wait for each other, flags
  Demand demand;         // of a byte of payload, to whichever peer
  std::optional<ChannelRounds> rounds{};
  std::vector<ChannelTransfer> transfers;
  std::vector<Delivery> deliveries;  // complete at the end of the step; each channel has its share of every one
};

struct ChannelProgram {
  int channels = 0;           // of each GPU
  CuResources channel;        // what one needs of its CU
  std::string_view protocol;  // "ll"; empty where there is but one
  StreamFill::PerPayload fills;
  std::vector<ChannelStep> steps;  // with the transfers of the simulated GPUs and the deliveries by them
  sim::Time last_flags{0};         // until each GPU knows that all others are done with its memory
  double late_placement = 1.0;     // of the rate of links, what channels get through that are placed amid a GEMM
};

}  // namespace c3sim::models
