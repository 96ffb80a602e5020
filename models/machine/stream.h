// What the stream of an operation gives the kernels that it queues there.
#pragma once

#include <cstdint>

#include "models/machine/cu_mask.h"

namespace c3sim::models {

struct Stream {
  CuMask mask;                  // CUs that its kernels may use
  int priority = 0;             // of streams that wait for the same CUs the highest goes first
  std::uint32_t operation = 0;  // whose they are: see ActivityTag
};

}  // namespace c3sim::models
