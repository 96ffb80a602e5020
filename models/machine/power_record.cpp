#include "models/machine/power_record.h"

#include <algorithm>

namespace c3sim::models {

void PowerRecord::add(sim::Time since, sim::Time until, sim::Watts power) {
  if (marks_.empty()) marks_.push_back({since, sim::Joules(0.0)});
  marks_.push_back({until, marks_.back().energy + power * sim::to_seconds(until - marks_.back().time)});
}

PowerRecord PowerRecord::moved(sim::Time by) const {
  PowerRecord record = *this;
  for (Mark& mark : record.marks_) mark.time += by;
  return record;
}

void PowerRecord::forget_before(sim::Time time) {
  while (marks_.size() > 1 && marks_[1].time <= time) marks_.pop_front();
}

sim::Joules PowerRecord::energy_until(sim::Time time) const {
  const auto after = std::ranges::upper_bound(marks_, time, {}, &Mark::time);
  if (marks_.empty()) return at_rest_ * sim::to_seconds(time);
  if (after == marks_.begin()) return after->energy - at_rest_ * sim::to_seconds(after->time - time);
  const Mark& before = *(after - 1);
  const sim::Seconds since = sim::to_seconds(time - before.time);
  if (after == marks_.end()) return before.energy + at_rest_ * since;
  return before.energy + (after->energy - before.energy) * (since / sim::to_seconds(after->time - before.time));
}

sim::Watts PowerRecord::mean(sim::Time since, sim::Time until) const {
  return (energy_until(until) - energy_until(since)) / sim::to_seconds(until - since);
}

// Energy is piecewise linear in time, so the window with the highest mean begins or ends at a mark.
sim::Watts PowerRecord::highest_mean(sim::Time since, sim::Time until, sim::Time width) const {
  if (until - since <= width) return mean(since, until);
  sim::Watts highest = std::max(mean(since, since + width), mean(until - width, until));
  for (const Mark& mark : marks_) {
    if (mark.time >= since && mark.time + width <= until) {
      highest = std::max(highest, mean(mark.time, mark.time + width));
    }
    if (mark.time - width >= since && mark.time <= until) {
      highest = std::max(highest, mean(mark.time - width, mark.time));
    }
  }
  return highest;
}

}  // namespace c3sim::models
