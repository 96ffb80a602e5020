#include "models/machine/host.h"

#include <string>
#include <utility>

#include "sim/open_step.h"

namespace c3sim::models {

Host::Host(const HostSpec& spec, sim::Simulator& simulator, int gpus) : simulator_(simulator), spec_(spec) {
  const int count = spec.threads == HostThreads::one ? 1 : gpus;
  for (int i = 0; i < count; ++i) {
    threads_.push_back(
        std::make_unique<SubmittingThread>(simulator, "host.thread" + std::to_string(i), spec.submission));
  }
  for (int gpu = 0; gpu < gpus; ++gpu) {
    launchers_.push_back(
        std::make_unique<SubmittingThread>(simulator, "host.launcher" + std::to_string(gpu), spec.submission));
  }
}

SubmittingThread& Host::thread_of(int gpu) {
  return *threads_[spec_.threads == HostThreads::one ? 0 : static_cast<std::size_t>(gpu)];
}

sim::Task<> Host::launch_kernel(int gpu, bool graph) {
  SubmittingThread& launcher = *launchers_[static_cast<std::size_t>(gpu)];
  return graph ? launcher.work(spec_.graph_launch, {"launch graph", {}})
               : launcher.work(spec_.kernel_launch, {"launch kernel", {}});
}

sim::Task<> Host::notice_kernel_end(int gpu) {
  sim::OpenStep step(simulator_);
  co_await simulator_.delay(spec_.kernel_notice);
  step.end(launchers_[static_cast<std::size_t>(gpu)]->name(), "notice kernel end");
}

sim::Task<> Host::see(int gpu, MemoryWord& word, Condition condition) {
  const sim::Time delay = spec_.wait == HostWait::interrupt ? spec_.interrupt_latency : sim::Time(0);
  return thread_of(gpu).see(word, condition, delay);
}

}  // namespace c3sim::models
