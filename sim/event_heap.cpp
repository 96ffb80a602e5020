#include "sim/event_heap.h"

namespace c3sim::sim {

namespace {
constexpr std::size_t arity = 4;

// Returns 1 if `a` is due before `b`, else 0. The code has no branch, because a processor could not predict it.
std::size_t before(const ScheduledEvent& a, const ScheduledEvent& b) {
  const auto sooner = static_cast<std::size_t>(a.at < b.at);
  const auto same_time = static_cast<std::size_t>(a.at == b.at);
  return sooner | (same_time & static_cast<std::size_t>(a.sequence < b.sequence));
}
}  // namespace

void EventHeap::push(const ScheduledEvent& event) {
  events_.push_back(event);
  sift_up(events_.size() - 1, event);
}

void EventHeap::pop() {
  const ScheduledEvent last = events_.back();
  events_.pop_back();
  const std::size_t size = events_.size();
  if (size == 0) return;

  // The hole sinks to a leaf along the earliest children, and `last` then rises from there, seldom far, as it was a
  // leaf itself. Comparing it on the way down would cost a branch per level.
  std::size_t hole = 0;
  std::size_t child = 1;
  for (; child + arity <= size; child = arity * hole + 1) {
    const std::size_t left = child + before(events_[child + 1], events_[child]);
    const std::size_t right = child + 2 + before(events_[child + 3], events_[child + 2]);
    const std::size_t earliest = left + (right - left) * before(events_[right], events_[left]);
    events_[hole] = events_[earliest];
    hole = earliest;
  }
  if (child < size) {
    std::size_t earliest = child;
    for (std::size_t sibling = child + 1; sibling < size; ++sibling) {
      if (before(events_[sibling], events_[earliest]) != 0) earliest = sibling;
    }
    events_[hole] = events_[earliest];
    hole = earliest;
  }
  sift_up(hole, last);
}

// Moves the hole up past all ancestors that are due after `event` and puts `event` there.
void EventHeap::sift_up(std::size_t hole, const ScheduledEvent& event) {
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / arity;
    if (before(event, events_[parent]) == 0) break;
    events_[hole] = events_[parent];
    hole = parent;
  }
  events_[hole] = event;
}

}  // namespace c3sim::sim
