// An EventHeap orders events by due time. Each node has four children, so that it is half as deep as a binary heap and
// siblings lie in neighbouring cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_action.h"
#include "sim/units.h"

namespace c3sim::sim {

struct ScheduledEvent {
  Time at;
  std::uint64_t sequence;  // the order of scheduling; different for every event
  EventAction action;
};

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

}  // namespace c3sim::sim
