// Acts when something takes longer than it ever should: a call that hangs in a driver cannot be interrupted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace c3sim::measure {

class Watchdog {
 public:
  // `bite` is called on a thread of its own, once at most.
  explicit Watchdog(std::function<void()> bite);

  void expect_end_within(std::chrono::duration<double> limit);
  void rest();

 private:
  using Clock = std::chrono::steady_clock;
  void set(Clock::time_point until);
  void watch(const std::stop_token& end);

  std::function<void()> bite_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Clock::time_point until_ = Clock::time_point::max();
  std::jthread thread_;  // last: it looks at all of the above
};

}  // namespace c3sim::measure
