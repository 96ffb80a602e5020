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

// A kernel has begun on one of its GPUs. `launched_late`: all that it had to wait for there was over before the host
// had launched it, so that the GPU waited for the host.
struct KernelStart {
  int gpu = 0;
  bool launched_late = false;
};
using StartListener = std::function<void(const KernelStart&)>;

// A word that the workgroups of a kernel poll, each from its CU, before they do anything else. `read`: what it takes a
// poll to bring the word that meets the condition.
struct PolledWord {
  MemoryWord* word = nullptr;  // null: there is none
  Condition until{};
  sim::Time read{0};
  // Where pieces of an operand arrive one after the other: so many workgroups need none of them, and then one more for
  // every so many; the word counts pieces. 0: all workgroups wait for the condition.
  int first = 0;
  int each = 0;

  // What a cohort waits for whose last workgroup this is.
  Condition condition_of(int workgroup) const {
    if (each == 0) return until;
    return {Comparison::at_least, workgroup < first ? 0 : 1 + (workgroup - first) / each};
  }
};

struct Stream {
  CuMask mask;                  // CUs that its kernels may use
  int priority = 0;             // of streams that wait for the same CUs the highest goes first
  std::uint32_t operation = 0;  // whose they are: see ActivityTag
  bool follows = false;         // others of its schedule come before that operation
  bool cached_operands = true;  // a GEMM finds of them what the Infinity Cache can hold
  // A kernel that is queued behind others: the host launches it at once, and on its GPUs it begins when `ready` is
  // open. `ended` is opened when all its GPUs have done it, before the host knows. None: it begins when it is launched.
  sim::Gate* ready = nullptr;
  sim::Gate* ended = nullptr;
  ProgressListener progress = {};  // told wave by wave; may be empty
  StartListener started = {};      // may be empty, too
  PolledWord polled = {};
  sim::Time fence{0};  // that a workgroup stays on its CU after its last store, until others see what it has stored
  bool adds_result = false;       // a GEMM's stores are added to what is in memory, by the memory
  double stored_elsewhere = 0.0;  // of a GEMM's result, the share that others account for: it is stored at other GPUs
};

}  // namespace c3sim::models
