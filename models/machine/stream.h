// What the stream of an operation gives the kernels that it queues there.
#pragma once

#include <cstdint>
#include <functional>

#include "models/machine/cu_mask.h"
#include "models/machine/memory_word.h"
#include "sim/units.h"

namespace c3sim::sim {
class Gate;
}

namespace c3sim::models {

// How far a kernel has come on one of its GPUs.
struct KernelProgress {
  int gpu = 0;
  int done = 0;  // workgroups that have retired
  int all = 0;
};
using ProgressListener = std::function<void(const KernelProgress&)>;

// A word that the workgroups of a kernel poll, each from its CU, before they do anything else. `read`: what it takes a
// poll to bring the word that meets the condition.
struct PolledWord {
  MemoryWord* word = nullptr;  // null: there is none
  Condition until{};
  sim::Time read{0};
};

struct Stream {
  CuMask mask;                  // CUs that its kernels may use
  int priority = 0;             // of streams that wait for the same CUs the highest goes first
  std::uint32_t operation = 0;  // whose they are: see ActivityTag
  bool cached_operands = true;  // a GEMM finds of them what the Infinity Cache can hold
  // A kernel that is queued behind others: the host launches it at once, and on its GPUs it begins when `ready` is
  // open. `ended` is opened when all its GPUs have done it, before the host knows. None: it begins when it is launched.
  sim::Gate* ready = nullptr;
  sim::Gate* ended = nullptr;
  ProgressListener progress = {};  // told wave by wave; may be empty
  PolledWord polled = {};
};

}  // namespace c3sim::models
