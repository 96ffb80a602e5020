// All algorithms of the library's kernels share the choice of a protocol and what a byte of payload needs of the
// machine. The library takes the fastest protocol: for rings and trees by its own tuner's constants, if known, else by
// the model of an idle node at the highest clock, so that protocols give way to each other where they are equally fast.
#pragma once

#include <optional>

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

// RingRounds are for channels of a ring or a tree, which move at most a chunk of every part of the array in a round.
struct RingRounds {
  double tuned_hops = 0.0;            // hops that the library's tuner counts
  double parts = 1.0;                 // parts of the array
  bool in_step = false;               // all channels end a round, and begin the next, together
  double filling_hops = 0.0;          // hops that wait for a whole chunk before they can send
  std::optional<sim::Bytes> chunk{};  // chunk of the protocol Simple; overrides the collective's
};

// ChannelDealing says how an algorithm deals data and channels to the links.
struct ChannelDealing {
  RcclAlgorithm algorithm = RcclAlgorithm::ring;
  double hops = 0.0;        // dependent hops before data flows at full rate
  double loop_bytes = 0.0;  // bytes that the copy loop of a channel handles per byte of payload
  std::optional<RingRounds> rounds;
  // The busiest link takes longest.
  struct Link {
    sim::Bytes payload;
    sim::Bytes back;  // payload in the opposite direction
    double channels = 0.0;
  } busiest;
  std::vector<ChannelTransfer> transfers;  // those of the simulated GPUs
};

// Returns the program of `spec` by the library's kernels on CUs of the mask; it has one step.
ChannelProgram rccl_program(Node& node, const CollectiveSpec& spec, const CuMask& mask, ChannelDealing dealing);

}  // namespace c3sim::models
