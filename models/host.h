// The host: the threads that drive the GPUs, and what its runtime charges for launching kernels and learning of their
// end.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/submitting_thread.h"
#include "sim/config_section.h"
#include "sim/simulator.h"

namespace models {

enum class HostThreads { one, per_gpu };     // one thread loops over all GPUs, or each GPU has its own
enum class HostWait { polling, interrupt };  // how a thread learns that an engine has finished

std::string_view to_string(HostThreads threads);  // as in the platform file: "one", "per_gpu"

struct HostSpec {
  HostThreads threads = HostThreads::one;
  HostWait wait = HostWait::polling;
  SubmissionCosts submission;
  sim::Time interrupt_latency{0};  // from the interrupt message to the woken thread
  sim::Time kernel_launch{0};      // thread time of launching one kernel
  sim::Time graph_launch{0};       // the same from a captured graph
  sim::Time kernel_notice{0};      // from the end of a kernel to a thread that knows of it

  static HostSpec read(sim::Section section);
};

class Host {
 public:
  Host(const HostSpec& spec, sim::Simulator& simulator, int gpus);

  const HostSpec& spec() const { return spec_; }
  int threads() const { return static_cast<int>(threads_.size()); }
  // The thread that drives GPU `gpu` (0 <= gpu < gpus).
  SubmittingThread& thread_of(int gpu);

  // Launches a kernel, alone or as all of a captured graph: occupies the thread of `gpu`, ends when the command left
  // it.
  sim::Task<> launch_kernel(int gpu, bool graph);
  // From the end of a kernel of `gpu` until the waiting thread knows. Occupies nobody.
  sim::Task<> notice_kernel_end(int gpu);
  // Waits for the word in the way the host waits for engines.
  sim::Task<> see(int gpu, MemoryWord& word, Condition condition);

  sim::Simulator& simulator() { return simulator_; }

 private:
  sim::Simulator& simulator_;
  HostSpec spec_;
  std::vector<std::unique_ptr<SubmittingThread>> threads_;
  // Kernels are launched by one process per GPU, as RCCL's users do, whoever drives the engines.
  std::vector<std::unique_ptr<SubmittingThread>> launchers_;  // by GPU
};

}  // namespace models
