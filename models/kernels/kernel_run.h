// This runs every kernel whose workgroups do not wait for other workgroups: it handles dispatch, waves, shares of CUs
// and caches, and the clock. The kernel's Demand says what it does.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "models/kernels/demand.h"
#include "models/machine/dispatcher.h"
#include "models/node.h"
#include "sim/task.h"

namespace c3sim::models {

struct Kernel {
  KernelSpec shape;
  sim::Time start_up{0};  // before its first workgroup
  double work = 0.0;      // units of progress of one piece of work, in each of its streams
  // Pieces from number `last_from` on have `last_work` units of progress each instead of `work`.
  int last_from = std::numeric_limits<int>::max();
  double last_work = 0.0;
  int streams = 1;         // concurrent flows of its workgroups, one for each GPU that they talk to
  double alone = 1.0;      // share of a CU's pipes that a workgroup reaches alone; several have even shares
  double streaming = 0.0;  // share of a CU's waves that a streaming workgroup has: for its power
  // The rates at which it fills the caches undisturbed decide how much of them it holds (see CacheSharing).
  sim::BytesPerSecond l2_fill;
  sim::BytesPerSecond cache_fill;
  std::function<Demand(int stream, const Footing& footing)> demand;
  std::string subject{};                         // what it works on, for traces, where its track has its name
  std::function<sim::Task<>()> afterwards = {};  // what it waits for after its last workgroup; may be empty
};

// Waits until the operations before a kernel in its stream have ended and, if it had to wait, for the gap that the GPU
// leaves before the next. If gaps are timed, a kernel without such operations also waits for the gap, as after one that
// is not simulated, and until its workgroups, which come `start_up` later, are behind those of the kernels launched
// before it. Then calls the stream's StartListener.
sim::Task<> begin_behind(Node& node, int gpu, const Stream& stream, sim::Time gap, sim::Time start_up);

// Runs the kernel from its arrival at the dispatcher of the GPU until its last workgroup has retired.
sim::Task<> run_kernel(Node& node, int gpu, Kernel kernel);

// Runs the same kernel on `gpus` (all if empty), from the host's first instruction to its knowledge that all have
// finished.
sim::Task<> launch_kernel(Node& node, Kernel kernel, std::vector<int> gpus);

}  // namespace c3sim::models
