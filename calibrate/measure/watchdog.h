// Acts when something takes longer than it ever should: a call that hangs in a driver cannot be interrupted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace c3sim::measure {

class Watchdog {
 public:
  // `bite` is called on a thread of its own, once at most.
  explicit Watchdog(std::function<void()> bite);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void expect_end_within(std::chrono::duration<double> limit);
  void rest();

 private:
  void watch();

  std::function<void()> bite_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::time_point::max();
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace c3sim::measure
