// An EventQueue holds pending events in order of (time, sequence of scheduling); nothing else decides. An event costs
// no allocation once the queue has reached its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_action.h"
#include "sim/units.h"
#include "sim/waiting_line.h"

namespace c3sim::sim {

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

  void push_later(const ScheduledEvent& event);
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
