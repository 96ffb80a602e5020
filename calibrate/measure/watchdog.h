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
  // `bite` is called, on a thread of its own, if this still lives after so long.
  Watchdog(std::chrono::duration<double> limit, std::function<void()> bite)
      : thread_([limit, bite = std::move(bite)](const std::stop_token& end) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any ended;
          ended.wait_for(lock, end, limit, [] { return false; });
          if (!end.stop_requested()) bite();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace c3sim::measure
