#include "sim/event_queue.h"

#include <algorithm>

#include "sim/check.h"

namespace c3sim::sim {

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
  } else {
    push_later(event);
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

void EventQueue::push_later(const ScheduledEvent& event) {
  ++later_;
  if (tick(event) < slots_end_) {
    slots_[(tick(event) - slots_begin_) >> slot_shift_].push_back(event);
  } else {
    far_.push_back(event);
  }
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
