// A Semaphore has permits that processes wait for and give back, first come, first served: a small request does not
// overtake a large one. A served process goes on at that instant through the event queue. The semaphore must outlive
// the processes that use it; a Deadlock's message shows its name.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/event_action.h"
#include "sim/simulator.h"
#include "sim/waiting_line.h"

namespace c3sim::sim {

class Semaphore {
 public:
  Semaphore(Simulator& simulator, std::string name, std::uint64_t permits)
      : simulator_(simulator), name_(std::move(name)), available_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // co_await semaphore.acquire(n) waits until all earlier requests are served and n permits are free, then takes them.
  auto acquire(std::uint64_t permits = 1) {
    struct Acquire {
      Semaphore& semaphore;
      std::uint64_t permits;
      bool await_ready() const { return semaphore.try_acquire(permits); }
      void await_suspend(std::coroutine_handle<> waiter) const {
        semaphore.waiters_.push_back(
            {permits, semaphore.simulator_.suspend(waiter, {"a permit of semaphore", semaphore.name_})});
      }
      void await_resume() const {}
    };
    return Acquire{*this, permits};
  }
  // Takes the permits if that needs no wait; otherwise returns false.
  bool try_acquire(std::uint64_t permits = 1) {
    if (!waiters_.empty() || permits > available_) return false;
    available_ -= permits;
    return true;
  }
  void release(std::uint64_t permits = 1) {
    available_ += permits;
    while (!waiters_.empty() && waiters_.front().permits <= available_) {
      available_ -= waiters_.front().permits;
      simulator_.schedule(simulator_.now(), waiters_.front().go_on);
      waiters_.pop_front();
    }
  }
  std::uint64_t available() const { return available_; }

 private:
  struct Waiter {
    std::uint64_t permits;
    EventAction go_on;
  };
  Simulator& simulator_;
  std::string name_;
  std::uint64_t available_;
  WaitingLine<Waiter> waiters_;
};

}  // namespace c3sim::sim
