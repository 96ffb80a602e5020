// Pending events in order of (time, sequence of scheduling): first in, first out among equals, and nothing else
// decides. An event costs no allocation once the queue has reached its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_action.h"
#include "sim/event_heap.h"
#include "sim/units.h"
#include "sim/waiting_line.h"

namespace c3sim::sim {

struct Event {
  Time at;
  EventAction action;
};

class EventQueue {
 public:
  bool empty() const { return present_.empty() && near_.empty(); }
  std::size_t size() const { return present_.size() + near_.size() + later_; }
  // When the next event is due; there must be one.
  Time next_time() const { return present_.empty() ? near_.first().at : present_time_; }
  // Adds an event, not before the last one popped.
  void push(Time at, EventAction action);
  // Removes the next event; there must be one.
  Event pop();

 private:
  using Tick = std::uint64_t;  // picoseconds, with room above Time::max() for the end of the last slot

  void push_later(const ScheduledEvent& event);
  void refill_near();
  void spread_far();

  // Events pushed for the instant of the last pop wait in line: whatever else is due at that instant was pushed earlier
  // and goes first.
  Time present_time_{0};
  WaitingLine<EventAction> present_;

  // Of the others only those due before near_end_ are kept in order, in a heap small enough for the first-level cache.
  // The next ones lie in slots of 2^slot_shift_ picoseconds each, those from slots_end_ on in far_, unsorted. When the
  // near heap runs empty it takes in the next slot; when the slots run out the far events are spread over new ones (a
  // ladder queue with one rung: Tang, Goh and Thng, ACM TOMACS 15(3), 2005). The near heap is empty only if all are.
  EventHeap near_;
  std::vector<std::vector<ScheduledEvent>> slots_;
  std::vector<ScheduledEvent> far_;
  Tick near_end_ = 0;
  Tick slots_begin_ = 0;
  Tick slots_end_ = 0;
  unsigned slot_shift_ = 0;
  std::size_t next_slot_ = 0;
  std::size_t slots_used_ = 0;
  std::size_t later_ = 0;  // events in slots and far
  std::uint64_t next_sequence_ = 0;
};

}  // namespace c3sim::sim
