// The host: the threads that drive the GPUs, and what its runtime charges for launching kernels and learning of their
// end.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/machine/submitting_thread.h"
#include "models/platform/host_spec.h"
#include "sim/simulator.h"

namespace c3sim::models {

class Host {
 public:
  Host(const HostSpec& spec, sim::Simulator& simulator, int gpus);

  const HostSpec& spec() const { return spec_; }
  int threads() const { return static_cast<int>(threads_.size()); }
  // The thread that drives GPU `gpu` (0 <= gpu < gpus).
  SubmittingThread& thread_of(int gpu);
  // The one that launches its kernels.
  SubmittingThread& launcher_of(int gpu) { return *launchers_[static_cast<std::size_t>(gpu)]; }

  // Launches a kernel, alone or as all of a captured graph: occupies the launcher of `gpu`, ends when the command left
  // it and, where the GPU was at rest, that is awake. Until then the launcher sleeps, so that kernels start in the
  // order in which they were launched, from rest as in any other case.
  sim::Task<> launch_kernel(int gpu) { return launch(gpu, spec_.kernel_launch, "launch kernel"); }
  sim::Task<> launch_collective(int gpu, bool graph) {
    return graph ? launch(gpu, spec_.graph_launch, "launch graph")
                 : launch(gpu, spec_.kernel_launch + spec_.collective_launch, "launch kernel");
  }
  // From the end of a kernel of `gpu` until the waiting thread knows. Occupies nobody.
  sim::Task<> notice_kernel_end(int gpu);
  // Waits for the word in the way the host waits for engines.
  sim::Task<> see(int gpu, MemoryWord& word, Condition condition);

  sim::Simulator& simulator() { return simulator_; }

 private:
  sim::Task<> launch(int gpu, sim::Time time, const char* what);

  sim::Simulator& simulator_;
  HostSpec spec_;
  std::vector<std::unique_ptr<SubmittingThread>> threads_;
  // Kernels are launched by one process per GPU, as RCCL's users do, whoever drives the engines.
  std::vector<std::unique_ptr<SubmittingThread>> launchers_;  // by GPU
  // Kernels launched and not yet noticed, and when the last one was. A GPU that had none for as long as it takes to
  // wake it is at rest.
  struct Activity {
    int kernels = 0;
    std::optional<sim::Time> last_end{};
  };
  std::vector<Activity> activity_;  // by GPU
};

}  // namespace c3sim::models
