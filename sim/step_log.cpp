#include "sim/step_log.h"

#include <algorithm>
#include <utility>

#include "sim/check.h"

namespace c3sim::sim {

StepLog::StepId StepLog::add(Step step) {
  SIM_CHECK(step.begin <= step.end && "a step ends after it begins");
  steps_.push_back(std::move(step));
  return steps_.size();
}

std::vector<StepLog::StepId> StepLog::critical_path(Time begin, Time end) const {
  StepId last = none;
  for (StepId id = 1; id <= steps_.size(); ++id) {
    if (step(id).end <= end && (last == none || step(id).end >= step(last).end)) last = id;
  }
  std::vector<StepId> path;
  for (StepId id = last; id != none && step(id).end > begin; id = step(id).after) path.push_back(id);
  std::reverse(path.begin(), path.end());
  return path;
}

EventAction StepLog::carry(EventAction action) {
  std::size_t slot = carried_.size();
  if (free_slots_.empty()) {
    carried_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  carried_[slot] = {action, current_};
  return [this, slot] {
    Carried carried = carried_[slot];
    free_slots_.push_back(slot);
    current_ = carried.step;
    carried.action();
  };
}

}  // namespace c3sim::sim
