// Host has the threads that drive the GPUs, and charges the runtime's costs of launching kernels and seeing their end.
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
  // Returns the thread that drives the engines of GPU `gpu` (0 <= gpu < gpus).
  SubmittingThread& thread_of(int gpu);
  // Returns the thread that launches the kernels of GPU `gpu`.
  SubmittingThread& launcher_of(int gpu) { return *launchers_[static_cast<std::size_t>(gpu)]; }

  // Launches a kernel. Occupies the launcher of `gpu` and ends when the command has left it and the GPU, if it was at
  // rest, is awake. The launcher sleeps while the GPU wakes up, so that kernels start in the order of their launches.
  sim::Task<> launch_kernel(int gpu) { return launch(gpu, spec_.kernel_launch, "launch kernel"); }
  // Does the same for the kernel of a collective; with `graph` it is launched as a captured graph.
  sim::Task<> launch_collective(int gpu, bool graph) {
    return graph ? launch(gpu, spec_.graph_launch, "launch graph")
                 : launch(gpu, spec_.kernel_launch + spec_.collective_launch, "launch kernel");
  }
  // Takes the time from the end of a kernel of `gpu` until the waiting thread knows of it; occupies no thread.
  sim::Task<> notice_kernel_end(int gpu);
  // Waits until the word meets the condition, in the way in which the host waits for engines.
  sim::Task<> see(int gpu, MemoryWord& word, Condition condition);

  sim::Simulator& simulator() { return simulator_; }

 private:
  sim::Task<> launch(int gpu, sim::Time time, const char* what);

  sim::Simulator& simulator_;
  HostSpec spec_;
  std::vector<std::unique_ptr<SubmittingThread>> threads_;
  // One process per GPU launches kernels, as RCCL's users do, whichever thread drives the engines.
  std::vector<std::unique_ptr<SubmittingThread>> launchers_;  // by GPU
  // Counts the kernels whose end the host has not noticed yet, and holds the time of the last notice. A GPU without
  // kernels for HostSpec::wake_up is at rest.
  struct Activity {
    int kernels = 0;
    std::optional<sim::Time> last_end{};
  };
  std::vector<Activity> activity_;  // by GPU
};

}  // namespace c3sim::models
