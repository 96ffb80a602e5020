// An EventQueue holds pending events in order of (time, sequence of scheduling); nothing else decides. An event costs
// no allocation once the queue has reached its size.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "sim/units.h"

namespace c3sim::sim {

// An EventAction holds a callable of at most two words: a lambda may capture `this` and one pointer, index or
// reference. It takes no coroutine handle, as coroutines are resumed by the action that Simulator::suspend returns.
class EventAction {
 public:
  EventAction() = default;  // does nothing

  template <class F>
  requires(std::is_invocable_r_v<void, F&> && !std::is_same_v<F, EventAction> &&
           !std::is_convertible_v<F, std::coroutine_handle<>>)
      EventAction(F callable)  // NOLINT(google-explicit-constructor): a lambda is an action
      : invoke_([](void* words) { (*std::launder(static_cast<F*>(words)))(); }) {
    static_assert(sizeof(F) <= sizeof(words_) && alignof(F) <= alignof(void*), "capture at most two words");
    static_assert(std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>, "capture plain data only");
    ::new (words_.data()) F(callable);
  }

  void operator()() { invoke_(words_.data()); }

 private:
  void (*invoke_)(void* words) = [](void*) {};
  alignas(void*) std::array<std::byte, 2 * sizeof(void*)> words_{};
};

// A queue, first in, first out, of plain values. Most lines of a simulation stay empty: unlike a std::deque, this one
// takes no memory before somebody joins it, and gives none back until it is destroyed.
template <class T>
requires std::is_trivially_copyable_v<T>
class WaitingLine {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  const T& front() const { return items_[first_]; }
  void push_back(const T& item) { items_.push_back(item); }
  // What was at the front is gone. Its place is used again once the line is empty, or half of it is such places.
  void pop_front() {
    ++first_;
    if (2 * first_ < items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;  // place of the front
};

struct ScheduledEvent {
  Time at;
  std::uint64_t sequence;  // the order of scheduling; different for every event
  EventAction action;
};

// An EventHeap orders events by due time. Each node has four children, so that it is half as deep as a binary heap and
// siblings lie in neighbouring cache lines.
class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  // Returns the event due first, of several at one time the one scheduled first. The heap must not be empty.
  const ScheduledEvent& first() const { return events_.front(); }
  void push(const ScheduledEvent& event);
  // Removes the first event. The heap must not be empty.
  void pop();

 private:
  void sift_up(std::size_t hole, const ScheduledEvent& event);

  std::vector<ScheduledEvent> events_;
};

struct Event {
  Time at;
  EventAction action;
};

class EventQueue {
 public:
  bool empty() const { return present_.empty() && near_.empty(); }
  std::size_t size() const { return present_.size() + near_.size() + later_; }
  // Returns when the next event is due. The queue must not be empty.
  Time next_time() const { return present_.empty() ? near_.first().at : present_time_; }
  // Adds an event at `at`, which is not before the last event popped.
  void push(Time at, EventAction action);
  // Removes and returns the next event. The queue must not be empty.
  Event pop();

 private:
  using Tick = std::uint64_t;  // in picoseconds; unsigned, as the end of the last slot may exceed Time::max()

  void refill_near();
  void spread_far();

  // Events pushed for the instant of the last pop wait in line: whatever else is due at that instant was pushed earlier
  // and goes first.
  Time present_time_{0};
  WaitingLine<EventAction> present_;

  // Of the other events, only those due before near_end_ are sorted, in a heap small enough for the first-level cache.
  // Later ones lie unsorted in slots of 2^slot_shift_ picoseconds, and from slots_end_ on in far_. When the near heap
  // runs empty, it takes in the next slot; when the slots run out, the far events are spread over new slots (a ladder
  // queue with one rung: Tang, Goh and Thng, ACM TOMACS 15(3), 2005). The near heap is empty only if all are.
  EventHeap near_;
  std::vector<std::vector<ScheduledEvent>> slots_;
  std::vector<ScheduledEvent> far_;
  Tick near_end_ = 0;
  Tick slots_begin_ = 0;
  Tick slots_end_ = 0;
  unsigned slot_shift_ = 0;
  std::size_t next_slot_ = 0;
  std::size_t slots_used_ = 0;
  std::size_t later_ = 0;  // number of events in slots_ and far_
  std::uint64_t next_sequence_ = 0;
};

}  // namespace c3sim::sim
