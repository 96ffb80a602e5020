#include "sim/event_queue.h"

#include <algorithm>

#include "sim/check.h"

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

namespace {
// The mean number of events per slot is high enough to amortise handling a slot and low enough for a shallow heap.
constexpr std::size_t events_per_slot = 64;

std::uint64_t tick(const ScheduledEvent& event) { return static_cast<std::uint64_t>(event.at.count()); }
}  // namespace

void EventQueue::push(Time at, EventAction action) {
  SIM_CHECK(at >= present_time_);
  if (at == present_time_) {
    present_.push_back(action);
    return;
  }
  const ScheduledEvent event{at, next_sequence_++, action};
  if (near_.empty()) {
    near_end_ = slots_end_ = tick(event) + 1;
    next_slot_ = slots_used_;
  }
  if (tick(event) < near_end_) {
    near_.push(event);
    return;
  }
  ++later_;
  if (tick(event) < slots_end_) {
    slots_[(tick(event) - slots_begin_) >> slot_shift_].push_back(event);
  } else {
    far_.push_back(event);
  }
}

Event EventQueue::pop() {
  SIM_CHECK(!empty());
  if (!near_.empty() && (present_.empty() || near_.first().at == present_time_)) {
    const Event event{near_.first().at, near_.first().action};
    present_time_ = event.at;
    near_.pop();
    if (near_.empty() && later_ > 0) refill_near();
    return event;
  }
  const Event event{present_time_, present_.front()};
  present_.pop_front();
  return event;
}

// Moves the events of the next nonempty slot to the near heap.
void EventQueue::refill_near() {
  while (near_.empty()) {
    if (next_slot_ == slots_used_) spread_far();
    std::vector<ScheduledEvent>& slot = slots_[next_slot_++];
    for (const ScheduledEvent& event : slot) near_.push(event);
    later_ -= slot.size();
    slot.clear();
    near_end_ = slots_begin_ + (Tick{next_slot_} << slot_shift_);
  }
}

// Lays new slots from the first to the last far event and moves all far events there. far_ must not be empty.
void EventQueue::spread_far() {
  const auto [first, last] = std::minmax_element(
      far_.begin(), far_.end(), [](const ScheduledEvent& a, const ScheduledEvent& b) { return a.at < b.at; });
  slots_begin_ = tick(*first);
  const Tick span = tick(*last) - slots_begin_;
  const std::size_t most_slots = std::max<std::size_t>(1, far_.size() / events_per_slot);
  slot_shift_ = 0;
  while ((span >> slot_shift_) >= most_slots) ++slot_shift_;
  slots_used_ = static_cast<std::size_t>(span >> slot_shift_) + 1;
  slots_end_ = slots_begin_ + (Tick{slots_used_} << slot_shift_);
  if (slots_.size() < slots_used_) slots_.resize(slots_used_);
  next_slot_ = 0;
  for (const ScheduledEvent& event : far_) slots_[(tick(event) - slots_begin_) >> slot_shift_].push_back(event);
  far_.clear();
}

}  // namespace c3sim::sim
