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
#include "sim/event_action.h"
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

}  // namespace c3sim::sim
