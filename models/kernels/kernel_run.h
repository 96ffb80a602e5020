// The one way to run a kernel whose workgroups need nobody else's: dispatch, waves, who is resident, shares of CUs and
// caches, the clock. What the kernel does is in its Demand.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "models/kernels/demand.h"
#include "models/machine/cache_sharing.h"
#include "models/machine/kernel.h"
#include "models/node.h"
#include "sim/task.h"

namespace c3sim::models {

struct Kernel {
  KernelSpec shape;
  sim::Time start_up{0};  // before its first workgroup
  double work = 0.0;      // units of progress of one piece of work, in each of its streams
  // Where the last pieces differ from the others: from which one on, and the units of progress of each of these.
  int last_from = std::numeric_limits<int>::max();
  double last_work = 0.0;
  int streams = 1;         // that its workgroups keep going at once: one for each GPU that they talk to
  double alone = 1.0;      // of a CU's pipes, what a workgroup reaches that has it for itself; several have even shares
  double streaming = 0.0;  // the share of a CU's waves that a workgroup has which streams: for its power
  // How fast it fills the caches while it runs undisturbed, which is how much of them it holds (see CacheSharing).
  sim::BytesPerSecond l2_fill;
  sim::BytesPerSecond cache_fill;
  // Whether it is described anew when the clock moves. Matrix work is not: the governor itself moves its bound.
  bool follows_clock = false;
  std::function<Demand(int stream, const Footing& footing)> demand;
};

// What a kernel waits for that is queued behind others of its stream: that they have ended, and, if it had to wait for
// that, the gap that its GPU then leaves before it begins; where gaps are timed, the one behind an operation like it
// that is not simulated, too. Tells the stream's listener that it starts now.
sim::Task<> begin_behind(Node& node, int gpu, const Stream& stream, sim::Time gap);

// From its arrival at the dispatcher of the GPU until its last workgroup has retired.
sim::Task<> run_kernel(Node& node, int gpu, Kernel kernel);

// A kernel and what people call it: the track of pictures that shows it, "gemm", and what it works on.
struct Launch {
  Kernel kernel;
  std::string track;
  std::string subject;
  std::function<sim::Task<>()> afterwards = {};  // what the kernel waits for after its last workgroup; may be empty
};
// The same kernel on some GPUs, from the host's first instruction to its knowledge that all have finished.
sim::Task<> launch_kernel(Node& node, std::vector<int> gpus, Launch launch);

}  // namespace c3sim::models
