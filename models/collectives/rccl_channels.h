// What all algorithms of the library's kernels have in common: which protocol they take, and what a byte of payload
// asks of the machine. The library takes the protocol whose time is least: around a ring by its own tuner's constants,
// where these are known, else by the model of an idle node at the highest clock, so that a protocol gives way to the
// next where both take the same time.
#pragma once

#include <optional>

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

// Channels of a ring or a tree go round by round: in each, no more than a chunk of every part of the array.
struct RingRounds {
  double tuned_hops = 0.0;            // that the library's tuner counts
  double parts = 1.0;                 // of the array
  bool in_step = false;               // all channels end a round together, and begin the next one so
  double filling_hops = 0.0;          // that wait for a whole chunk before they have anything to send
  std::optional<sim::Bytes> chunk{};  // by Simple, instead of the collective's
};

// How an algorithm deals data and channels to the links.
struct ChannelDealing {
  RcclAlgorithm algorithm = RcclAlgorithm::ring;
  double hops = 0.0;        // that wait for each other before data flows at full rate
  double loop_bytes = 0.0;  // that the copy loop of a channel handles per byte of payload
  std::optional<RingRounds> rounds;
  // The link that takes longest.
  struct Link {
    sim::Bytes payload;
    sim::Bytes back;  // what comes the other way
    double channels = 0.0;
  } busiest;
  std::vector<ChannelTransfer> transfers;  // of the simulated GPUs
};

// `spec` by the library's kernels on CUs of the mask, in one step.
ChannelProgram rccl_program(Node& node, const CollectiveSpec& spec, const CuMask& mask, ChannelDealing dealing);

}  // namespace c3sim::models
