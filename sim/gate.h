// A Gate or a Latch announces to any number of processes that something has happened. Waiting processes go on at that
// instant, in order of arrival, through the event queue. Gates and latches must outlive the processes that wait at
// them; a Deadlock's message shows their names.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/simulator.h"

namespace c3sim::sim {

// A Gate is closed until it is opened, once and for ever.
class Gate {
 public:
  Gate(Simulator& simulator, std::string name) : simulator_(simulator), name_(std::move(name)) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Lets all waiting processes go on. Opening an open gate does nothing.
  void open() {
    is_open_ = true;
    for (const EventAction& go_on : waiters_) simulator_.schedule(simulator_.now(), go_on);
    waiters_.clear();
  }
  bool is_open() const { return is_open_; }
  // co_await gate.wait() goes on at once if the gate is open, otherwise when it opens.
  auto wait() {
    struct Passage {
      Gate& gate;
      bool await_ready() const { return gate.is_open_; }
      void await_suspend(std::coroutine_handle<> waiter) const {
        gate.waiters_.push_back(gate.simulator_.suspend(waiter, {"gate", gate.name_}));
      }
      void await_resume() const {}
    };
    return Passage{*this};
  }

 private:
  Simulator& simulator_;
  std::string name_;
  bool is_open_ = false;
  std::vector<EventAction> waiters_;
};

// A Latch is a gate that opens when it has been counted down to zero, so that one process can wait for several.
class Latch {
 public:
  Latch(Simulator& simulator, std::string name, std::uint64_t count)
      : gate_(simulator, std::move(name)), count_(count) {
    if (count == 0) gate_.open();
  }
  void count_down() {
    SIM_CHECK(count_ > 0 && "a latch is counted down no further than zero");
    if (--count_ == 0) gate_.open();
  }
  std::uint64_t count() const { return count_; }
  auto wait() { return gate_.wait(); }

 private:
  Gate gate_;
  std::uint64_t count_;
};

// A Semaphore has permits that processes wait for and give back, first come, first served: a small request does not
// overtake a large one. A served process goes on at that instant through the event queue. The semaphore must outlive
// the processes that use it; a Deadlock's message shows its name.
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
