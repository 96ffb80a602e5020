// A Stream holds what kernels inherit from the stream on which their operation queues them: CUs, priority, what they
// wait for, and whom they tell of their progress.
#pragma once

#include <cstdint>
#include <functional>

#include "models/machine/memory_word.h"
#include "models/platform/cu_resources.h"
#include "sim/units.h"

namespace c3sim::sim {
class Gate;
}

namespace c3sim::models {

// KernelProgress says how far a kernel has come on one of its GPUs.
struct KernelProgress {
  int gpu = 0;
  int done = 0;  // workgroups that have retired
  int all = 0;   // workgroups of the kernel
};
using ProgressListener = std::function<void(const KernelProgress&)>;

// KernelStart tells that a kernel has begun on one of its GPUs. With `launched_late` everything that it had to wait for
// was over before the host launched it, so the GPU waited for the host.
struct KernelStart {
  int gpu = 0;
  bool launched_late = false;
};
using StartListener = std::function<void(const KernelStart&)>;

// The workgroups of a kernel poll a PolledWord, each from its CU, before they do anything else. `read` is the latency
// of the poll that finds the condition met.
struct PolledWord {
  MemoryWord* word = nullptr;  // null: there is none
  Condition until{};
  sim::Time read{0};
  // These are for an operand that arrives piece by piece, counted in the word: the `first` workgroups need no piece,
  // and every `each` workgroups after them need one more. If `each` is 0, all workgroups wait for `until`.
  int first = 0;
  int each = 0;

  // Returns what a cohort whose last workgroup is `workgroup` waits for.
  Condition condition_of(int workgroup) const {
    if (each == 0) return until;
    return {Comparison::at_least, workgroup < first ? 0 : 1 + (workgroup - first) / each};
  }
};

struct Stream {
  CuMask mask;                  // CUs that its kernels may use
  int priority = 0;             // among streams that wait for the same CUs the highest goes first
  std::uint32_t operation = 0;  // index of the operation in the schedule: see ActivityTag
  bool follows = false;         // the schedule has operations before this one
  bool cached_operands = true;  // a GEMM finds its operands in the Infinity Cache, as far as they fit
  // A kernel may be queued after others: the host launches it at once, and it begins on its GPUs when `ready` opens;
  // without `ready` it begins when it is launched. `ended` opens when all its GPUs have done it, before the host knows.
  sim::Gate* ready = nullptr;
  sim::Gate* ended = nullptr;
  ProgressListener progress = {};  // called after each wave; may be empty
  StartListener started = {};      // may be empty
  PolledWord polled = {};
  sim::Time fence{0};        // how long a workgroup stays on its CU after its last store, until others see its stores
  bool adds_result = false;  // the memory adds a GEMM's stores to its contents
  double stored_elsewhere = 0.0;  // share of a GEMM's result that goes to other GPUs and is accounted for elsewhere
};

}  // namespace c3sim::models
