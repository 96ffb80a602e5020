// What the stream of an operation gives the kernels that it queues there.
#pragma once

#include <cstdint>

#include "models/machine/cu_mask.h"

namespace c3sim::sim {
class Gate;
}

namespace c3sim::models {

struct Stream {
  CuMask mask;                  // CUs that its kernels may use
  int priority = 0;             // of streams that wait for the same CUs the highest goes first
  std::uint32_t operation = 0;  // whose they are: see ActivityTag
  bool cached_operands = true;  // a GEMM finds of them what the Infinity Cache can hold
  // A kernel that is queued behind others: the host launches it at once, and on its GPUs it begins when `ready` is
  // open. `ended` is opened when all its GPUs have done it, before the host knows. None: it begins when it is launched.
  sim::Gate* ready = nullptr;
  sim::Gate* ended = nullptr;
};

}  // namespace c3sim::models
