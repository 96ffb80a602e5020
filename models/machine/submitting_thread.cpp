#include "models/machine/submitting_thread.h"

#include <algorithm>
#include <utility>

#include "sim/open_step.h"

namespace c3sim::models {

SubmittingThread::SubmittingThread(sim::Simulator& simulator, std::string name, const SubmissionCosts& costs)
    : simulator_(simulator), name_(std::move(name)), costs_(costs), free_(simulator, name_, 1) {}

sim::Task<> SubmittingThread::occupy_until(sim::Time end, Occupation occupation) {
  sim::OpenStep step(simulator_);
  busy_ += end - simulator_.now();
  co_await simulator_.delay(end - simulator_.now());
  step.end(name_, occupation.kind, occupation.subject);
}

sim::Task<> SubmittingThread::work(sim::Time duration, Occupation occupation) {
  co_await free_.acquire();
  co_await occupy_until(simulator_.now() + duration, occupation);
  free_.release();
}

sim::Task<> SubmittingThread::work_and_sleep(sim::Time duration, Occupation occupation, sim::Time sleep,
                                             Occupation why) {
  co_await free_.acquire();
  co_await occupy_until(simulator_.now() + duration, occupation);
  if (sleep > sim::Time::zero()) co_await occupy_until(simulator_.now() + sleep, why);
  free_.release();
}

sim::Task<> SubmittingThread::write_command(std::int64_t packets, std::string_view subject) {
  return work(costs_.command_write + packets * costs_.packet_write, {"write command", subject});
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

}  // namespace c3sim::models
