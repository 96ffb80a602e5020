// Host has the threads that drive the GPUs, and charges the runtime's costs of launching kernels and seeing their end.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/machine/memory_word.h"
#include "models/platform/host_spec.h"
#include "sim/gate.h"
#include "sim/simulator.h"
#include "sim/task.h"

namespace c3sim::models {

// A SubmittingThread writes packets, rings doorbells and looks at completion words. It is a thread of the host, or a
// wavefront of a GPU that drives its engines itself, and does one thing after the other.
class SubmittingThread {
 public:
  SubmittingThread(sim::Simulator& simulator, std::string name, const SubmissionCosts& costs);

  // Says for records what the thread does: "ring doorbell" "gpu0.sdma2.queue0". The texts must outlive the work.
  struct Occupation {
    std::string_view kind;
    std::string_view subject;
  };
  // Occupies the thread for `duration`, after all that it was asked to do before. Then the thread may sleep; work that
  // it is asked for meanwhile waits, in order.
  sim::Task<> work(sim::Time duration, Occupation occupation, sim::Time sleep = sim::Time(0), Occupation why = {});
  sim::Task<> write_command(std::int64_t packets, std::string_view subject) {
    return work(costs_.command_write + packets * costs_.packet_write, {"write command", subject});
  }
  // Rings a doorbell; ends when the store has left the thread.
  sim::Task<> ring_doorbell(std::string_view subject);
  sim::Task<> write_word(MemoryWord& word, std::int64_t value);
  // Waits for the condition without occupying the thread, then occupies it for the check of the word. The thread
  // notices a write no earlier than `delay` after it (an interrupt under way).
  sim::Task<> see(MemoryWord& word, Condition condition, sim::Time delay);

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  sim::Time busy() const { return busy_; }  // time occupied so far

 private:
  // Occupies the thread until `end`; the caller has acquired it and must release it.
  sim::Task<> occupy_until(sim::Time end, Occupation occupation);

  sim::Simulator& simulator_;
  std::string name_;
  SubmissionCosts costs_;
  sim::Semaphore free_;
  sim::Time next_doorbell_{0};  // the earliest time of the next doorbell's store
  sim::Time busy_{0};
};

class Host {
 public:
  Host(const HostSpec& spec, sim::Simulator& simulator, int gpus);

  const HostSpec& spec() const { return spec_; }
  int threads() const { return static_cast<int>(threads_.size()); }
  // Returns the thread that drives the engines of GPU `gpu` (0 <= gpu < gpus).
  SubmittingThread& thread_of(int gpu) {
    return threads_[spec_.threads == HostThreads::one ? 0 : static_cast<std::size_t>(gpu)];
  }
  // Returns the thread that launches the kernels of GPU `gpu`.
  SubmittingThread& launcher_of(int gpu) { return launchers_[static_cast<std::size_t>(gpu)]; }

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
  std::deque<SubmittingThread> threads_;
  // One process per GPU launches kernels, as RCCL's users do, whichever thread drives the engines.
  std::deque<SubmittingThread> launchers_;  // by GPU
  // Counts the kernels whose end the host has not noticed yet, and holds the time of the last notice. A GPU without
  // kernels for HostSpec::wake_up is at rest.
  struct Activity {
    int kernels = 0;
    std::optional<sim::Time> last_end{};
  };
  std::vector<Activity> activity_;  // by GPU
};

}  // namespace c3sim::models
