// Channel<T>: a queue through which processes pass items. Those that wait at it are served first come, first served,
// and go on through the event queue at the instant they are served. It must outlive the processes that use it; its name
// appears in the message of a Deadlock.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "sim/check.h"
#include "sim/event_action.h"
#include "sim/gate.h"       // IWYU pragma: export (what else processes wait at)
#include "sim/semaphore.h"  // IWYU pragma: export
#include "sim/simulator.h"

namespace c3sim::sim {

// A first-in, first-out queue of at most `capacity` (> 0) items between processes.
template <class T>
class Channel {
 public:
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  Channel(Simulator& simulator, std::string name, std::size_t capacity = unbounded)
      : simulator_(simulator), name_(std::move(name)), capacity_(capacity) {
    SIM_CHECK(capacity > 0);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // co_await channel.push(item): waits while the channel is full.
  auto push(T item) { return Push{*this, std::move(item), {}}; }
  // co_await channel.pop(): the oldest item; waits while there is none.
  auto pop() { return Pop{*this, {}, {}}; }
  // The same without waiting, for events: false, leaving `item` as it is, if full; nothing if empty.
  bool try_push(T& item);
  bool try_push(T&& item) { return try_push(item); }
  std::optional<T> try_pop();

  std::size_t size() const { return items_.size(); }

 private:
  struct Push {
    Channel& channel;
    T item;
    EventAction go_on;
    bool await_ready() { return channel.try_push(item); }
    void await_suspend(std::coroutine_handle<> waiter) {
      go_on = channel.simulator_.suspend(waiter, {"room in channel", channel.name_});
      channel.pushers_.push_back(this);
    }
    void await_resume() const {}
  };
  struct Pop {
    Channel& channel;
    std::optional<T> item;
    EventAction go_on;
    bool await_ready() {
      item = channel.try_pop();
      return item.has_value();
    }
    void await_suspend(std::coroutine_handle<> waiter) {
      go_on = channel.simulator_.suspend(waiter, {"an item of channel", channel.name_});
      channel.poppers_.push_back(this);
    }
    T await_resume() { return std::move(*item); }
  };

  Simulator& simulator_;
  std::string name_;
  std::size_t capacity_;
  std::deque<T> items_;
  // A waiter's place is in the frame of its coroutine. Poppers wait only while there is no item, pushers only while
  // there is no room; an item or a place is handed to the first of them at once, so that no latecomer can take it.
  std::deque<Pop*> poppers_;
  std::deque<Push*> pushers_;
};

template <class T>
bool Channel<T>::try_push(T& item) {
  if (!poppers_.empty()) {
    Pop& popper = *poppers_.front();
    poppers_.pop_front();
    popper.item = std::move(item);
    simulator_.schedule(simulator_.now(), popper.go_on);
    return true;
  }
  if (items_.size() == capacity_) return false;
  items_.push_back(std::move(item));
  return true;
}

template <class T>
std::optional<T> Channel<T>::try_pop() {
  if (items_.empty()) return std::nullopt;
  std::optional<T> item(std::move(items_.front()));
  items_.pop_front();
  if (!pushers_.empty()) {
    Push& pusher = *pushers_.front();
    pushers_.pop_front();
    items_.push_back(std::move(pusher.item));
    simulator_.schedule(simulator_.now(), pusher.go_on);
  }
  return item;
}

}  // namespace c3sim::sim
