// Events with the order they are due in: a heap of plain records, of which each node has four children. It is half as
// deep as a binary one, and siblings lie in neighbouring cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_action.h"
#include "sim/units.h"

namespace c3sim::sim {

struct ScheduledEvent {
  Time at;
  std::uint64_t sequence;  // of scheduling; different for every event
  EventAction action;
};

class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  // The event that is due first, of those due at one time the one scheduled first; there must be one.
  const ScheduledEvent& first() const { return events_.front(); }
  void push(const ScheduledEvent& event);
  // Removes the first; there must be one.
  void pop();

 private:
  void sift_up(std::size_t hole, const ScheduledEvent& event);

  std::vector<ScheduledEvent> events_;
};

}  // namespace c3sim::sim
