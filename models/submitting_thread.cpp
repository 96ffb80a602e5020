#include "models/submitting_thread.h"

#include <algorithm>
#include <utility>

#include "models/limits.h"

namespace models {

SubmissionCosts SubmissionCosts::read(sim::Section section) {
  SubmissionCosts costs;
  costs.command_write = section.time("command_write", limits::latency);
  costs.packet_write = section.time("packet_write", limits::latency);
  costs.doorbell = section.time("doorbell", limits::latency);
  costs.doorbell_interval = section.time("doorbell_interval", limits::latency);
  costs.word_write = section.time("word_write", limits::latency);
  costs.word_check = section.time("word_check", limits::latency);
  return costs;
}

SubmittingThread::SubmittingThread(sim::Simulator& simulator, std::string name, const SubmissionCosts& costs)
    : simulator_(simulator), name_(std::move(name)), costs_(costs), free_(simulator, name_, 1) {}

sim::Task<> SubmittingThread::occupy_until(sim::Time end) {
  busy_ += end - simulator_.now();
  co_await simulator_.delay(end - simulator_.now());
  free_.release();
}

sim::Task<> SubmittingThread::work(sim::Time duration) {
  co_await free_.acquire();
  co_await occupy_until(simulator_.now() + duration);
}

sim::Task<> SubmittingThread::write_command(std::int64_t packets) {
  return work(costs_.command_write + packets * costs_.packet_write);
}

sim::Task<> SubmittingThread::ring_doorbell() {
  co_await free_.acquire();
  const sim::Time store = std::max(simulator_.now() + costs_.doorbell, next_doorbell_);
  next_doorbell_ = store + costs_.doorbell_interval;
  co_await occupy_until(store);
}

sim::Task<> SubmittingThread::write_word(MemoryWord& word, std::int64_t value) {
  co_await work(costs_.word_write);
  word.write(value);
}

sim::Task<> SubmittingThread::see(MemoryWord& word, Condition condition, sim::Time delay) {
  co_await word.wait(condition, "a change of memory word");
  const sim::Time noticeable = word.written_at() + delay;
  if (noticeable > simulator_.now()) co_await simulator_.delay(noticeable - simulator_.now());
  co_await work(costs_.word_check);
}

}  // namespace models
