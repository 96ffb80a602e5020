// What the GPUs of a fused GEMM send to each other, as data.
#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/fused_spec.h"

namespace c3sim::models {

// Every GPU sends a piece, once it has it, to a peer, for which it is part of the piece `there`.
struct FusedTransfer {
  static constexpr std::int64_t from_the_start = -1;

  std::int64_t piece;   // or from_the_start: the GPU has it before the kernel begins
  int distance;         // the peer is so many GPUs behind the sender
  std::int64_t there;   // the piece of the peer
  bool arrives_first;   // the sender passes on what must have arrived before
  bool is_sum = false;  // what travels has been added up already, as in the second half of an all-reduce
};

// The transfers of one GPU among so many, in order for each peer: on a ring as T3 (arXiv 2401.16677) has them, or
// directly to each peer.
std::vector<FusedTransfer> fused_transfers(const FusedSpec& spec, std::int64_t gpus);

}  // namespace c3sim::models
