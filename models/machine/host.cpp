#include "models/machine/host.h"

#include <string>
#include <utility>

#include "sim/open_step.h"

namespace c3sim::models {

Host::Host(const HostSpec& spec, sim::Simulator& simulator, int gpus)
    : simulator_(simulator), spec_(spec), activity_(static_cast<std::size_t>(gpus)) {
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

sim::Task<> Host::launch(int gpu, sim::Time time, const char* what) {
  SubmittingThread& launcher = *launchers_[static_cast<std::size_t>(gpu)];
  Activity& activity = activity_[static_cast<std::size_t>(gpu)];
  const sim::Time asked = simulator_.now();
  const bool at_rest = activity.kernels == 0 && (!activity.last_end || asked - *activity.last_end >= spec_.wake_up);
  ++activity.kernels;
  const SubmittingThread::Occupation launching{what, {}};
  const SubmittingThread::Occupation waking{"wake up", {}};
  co_await launcher.work_and_sleep(time, launching, at_rest ? spec_.wake_up : sim::Time::zero(), waking);
}

sim::Task<> Host::notice_kernel_end(int gpu) {
  sim::OpenStep step(simulator_);
  co_await simulator_.delay(spec_.kernel_notice);
  step.end(launchers_[static_cast<std::size_t>(gpu)]->name(), "notice kernel end");
  Activity& activity = activity_[static_cast<std::size_t>(gpu)];
  --activity.kernels;
  activity.last_end = simulator_.now();
}

sim::Task<> Host::see(int gpu, MemoryWord& word, Condition condition) {
  const sim::Time delay = spec_.wait == HostWait::interrupt ? spec_.interrupt_latency : sim::Time(0);
  return thread_of(gpu).see(word, condition, delay);
}

}  // namespace c3sim::models
