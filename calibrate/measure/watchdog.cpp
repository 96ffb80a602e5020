#include "calibrate/measure/watchdog.h"

namespace c3sim::measure {

namespace {
using Clock = std::chrono::steady_clock;
}

Watchdog::Watchdog(std::function<void()> bite) : bite_(std::move(bite)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::expect_end_within(std::chrono::duration<double> limit) {
  {
    const std::lock_guard lock(mutex_);
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  }
  changed_.notify_all();
}

void Watchdog::rest() {
  const std::lock_guard lock(mutex_);
  until_ = Clock::time_point::max();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (until_ == Clock::time_point::max()) {
      changed_.wait(lock);
    } else if (Clock::now() < until_) {
      changed_.wait_until(lock, until_);
    } else {
      lock.unlock();
      bite_();
      return;
    }
  }
}

}  // namespace c3sim::measure
