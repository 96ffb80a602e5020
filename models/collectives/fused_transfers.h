// FusedTransfers describe as data what the GPUs of a fused GEMM send to each other.
#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/fused_spec.h"

namespace c3sim::models {

// Every GPU sends `piece`, once it has it, to a peer, whose piece `there` it becomes part of.
struct FusedTransfer {
  static constexpr std::int64_t from_the_start = -1;

  std::int64_t piece;   // or from_the_start: the GPU has it before the kernel begins
  int distance;         // index of the peer minus that of the sender, modulo the number of GPUs
  std::int64_t there;   // index of the piece at the peer
  bool arrives_first;   // the sender passes on what must first arrive at it
  bool is_sum = false;  // the piece has been added up already, as in the second half of an all-reduce
};

// Returns the transfers of one of `gpus` GPUs, in order for each peer: on a ring as in T3 (arXiv 2401.16677), or
// directly to each peer.
std::vector<FusedTransfer> fused_transfers(const FusedSpec& spec, std::int64_t gpus);

}  // namespace c3sim::models
