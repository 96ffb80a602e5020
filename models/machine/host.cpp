#include "models/machine/host.h"

#include <algorithm>
#include <utility>

namespace c3sim::models {

SubmittingThread::SubmittingThread(sim::Simulator& simulator, std::string name, const SubmissionCosts& costs)
    : simulator_(simulator), name_(std::move(name)), costs_(costs), free_(simulator, name_, 1) {}

sim::Task<> SubmittingThread::occupy_until(sim::Time end, Occupation occupation) {
  sim::OpenStep step(simulator_);
  busy_ += end - simulator_.now();
  co_await simulator_.delay(end - simulator_.now());
  step.end(name_, occupation.kind, occupation.subject);
}

sim::Task<> SubmittingThread::work(sim::Time duration, Occupation occupation, sim::Time sleep, Occupation why) {
  co_await free_.acquire();
  co_await occupy_until(simulator_.now() + duration, occupation);
  if (sleep > sim::Time::zero()) co_await occupy_until(simulator_.now() + sleep, why);
  free_.release();
}

sim::Task<> SubmittingThread::ring_doorbell(std::string_view subject) {
  co_await free_.acquire();
  const sim::Time store = std::max(simulator_.now() + costs_.doorbell, next_doorbell_);
  next_doorbell_ = store + costs_.doorbell_interval;
  const Occupation ringing{"ring doorbell", subject};
  co_await occupy_until(store, ringing);
  free_.release();
}

sim::Task<> SubmittingThread::write_word(MemoryWord& word, std::int64_t value) {
  const Occupation writing{"write word", word.name()};
  co_await work(costs_.word_write, writing);
  word.write(value);
}

sim::Task<> SubmittingThread::see(MemoryWord& word, Condition condition, sim::Time delay) {
  co_await word.wait(condition, "a change of memory word");
  const sim::Time noticeable = word.written_at() + delay;
  if (noticeable > simulator_.now()) {
    sim::OpenStep asleep(simulator_);
    co_await simulator_.delay(noticeable - simulator_.now());
    asleep.end(name_, "wake by interrupt", word.name());
  }
  const Occupation checking{"check word", word.name()};
  co_await work(costs_.word_check, checking);
}

Host::Host(const HostSpec& spec, sim::Simulator& simulator, int gpus)
    : simulator_(simulator), spec_(spec), activity_(static_cast<std::size_t>(gpus)) {
  const int count = spec.threads == HostThreads::one ? 1 : gpus;
  for (int i = 0; i < count; ++i) threads_.emplace_back(simulator, "host.thread" + std::to_string(i), spec.submission);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    launchers_.emplace_back(simulator, "host.launcher" + std::to_string(gpu), spec.submission);
  }
}

sim::Task<> Host::launch(int gpu, sim::Time time, const char* what) {
  SubmittingThread& launcher = launchers_[static_cast<std::size_t>(gpu)];
  Activity& activity = activity_[static_cast<std::size_t>(gpu)];
  const sim::Time asked = simulator_.now();
  const bool at_rest = activity.kernels == 0 && (!activity.last_end || asked - *activity.last_end >= spec_.wake_up);
  ++activity.kernels;
  const SubmittingThread::Occupation launching{what, {}};
  const SubmittingThread::Occupation waking{"wake up", {}};
  co_await launcher.work(time, launching, at_rest ? spec_.wake_up : sim::Time::zero(), waking);
}

sim::Task<> Host::notice_kernel_end(int gpu) {
  sim::OpenStep step(simulator_);
  co_await simulator_.delay(spec_.kernel_notice);
  step.end(launchers_[static_cast<std::size_t>(gpu)].name(), "notice kernel end");
  Activity& activity = activity_[static_cast<std::size_t>(gpu)];
  --activity.kernels;
  activity.last_end = simulator_.now();
}

sim::Task<> Host::see(int gpu, MemoryWord& word, Condition condition) {
  const sim::Time delay = spec_.wait == HostWait::interrupt ? spec_.interrupt_latency : sim::Time(0);
  return thread_of(gpu).see(word, condition, delay);
}

}  // namespace c3sim::models
