#include "calibrate/measure/watchdog.h"

namespace c3sim::measure {

Watchdog::Watchdog(std::function<void()> bite)
    : bite_(std::move(bite)), thread_([this](const std::stop_token& end) { watch(end); }) {}

void Watchdog::expect_end_within(std::chrono::duration<double> limit) {
  set(Clock::now() + std::chrono::duration_cast<Clock::duration>(limit));
}

void Watchdog::rest() { set(Clock::time_point::max()); }

void Watchdog::set(Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  until_ = until;
  changed_.notify_all();
}

void Watchdog::watch(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    const Clock::time_point until = until_;
    const auto is_another = [&] { return until_ != until; };
    if (until == Clock::time_point::max()) {
      changed_.wait(lock, end, is_another);
    } else if (!changed_.wait_until(lock, end, until, is_another) && !end.stop_requested()) {
      lock.unlock();
      return bite_();
    }
  }
}

}  // namespace c3sim::measure
