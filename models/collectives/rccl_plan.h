// How RCCL deals a collective to channels, and which protocol it takes: as its tuner does, the one whose time is least
// by the model of an idle node at the highest clock. So a protocol gives way to the next where both take the same time.
#pragma once

#include "models/platform/collective_spec.h"
#include "models/platform/fabric_spec.h"
#include "models/platform/rccl_spec.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

class RcclPlan {
 public:
  // Of a collective by kernels on CUs that hold `slots` channels at once.
  RcclPlan(Node& node, const CollectiveSpec& spec, int slots);

  int channels() const { return channels_; }
  const RcclProtocolSpec& protocol() const { return *protocol_; }
  // Of the steps that are done before data flows at full rate.
  sim::Time latency() const { return latency_of(*protocol_); }

  // Channels that send from one GPU to another. In a mesh each ring has a link of every GPU for itself, and the first
  // rings have a channel more where these do not come out even. In an exchange as many as a peer has are idle: those of
  // a GPU's part for itself.
  double channels_towards(int from, int to) const;
  int links() const;  // peers that each GPU has channels towards
  // What these send, all of the collective.
  sim::Bytes payload(int from, int to) const;
  // Bytes that a channel's copy loop handles per byte of payload. Around a ring it handles a GPU's own part once as
  // well, which fewer GPUs feel more: n parts for n - 1 that arrive, of an all-reduce 2n - 1 for 2n - 2.
  double loop_bytes() const;

 private:
  sim::Time latency_of(const RcclProtocolSpec& protocol) const;
  sim::Seconds time_of(const RcclProtocolSpec& protocol, Node& node, int slots) const;
  sim::BytesPerSecond link_rate(const RcclProtocolSpec& protocol, Node& node, double channels) const;

  CollectiveSpec spec_;
  Topology topology_;
  const RcclCollectiveSpec& collective_;
  int channels_;
  const RcclProtocolSpec* protocol_;
};

}  // namespace c3sim::models
