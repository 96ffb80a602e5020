#include "sim/step_log.h"

#include <algorithm>
#include <utility>

#include "sim/check.h"
#include "sim/simulator.h"

namespace sim {

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
  return [this, slot] { run_carried(slot); };
}

void StepLog::run_carried(std::size_t slot) {
  Carried carried = carried_[slot];
  free_slots_.push_back(slot);
  current_ = carried.step;
  carried.action();
}

OpenStep::OpenStep(const Simulator& simulator)
    : simulator_(&simulator),
      log_(simulator.step_log()),
      begin_(simulator.now()),
      after_(log_ == nullptr ? StepLog::none : log_->current()) {}

StepLog::Step OpenStep::closed(std::string_view track, std::string_view kind, std::string_view subject) const {
  return {std::string(track), std::string(kind), std::string(subject), begin_, simulator_->now(), after_};
}

void OpenStep::end(std::string_view track, std::string_view kind, std::string_view subject) {
  if (log_ != nullptr) log_->set_current(log_->add(closed(track, kind, subject)));
}

void OpenStep::show(std::string_view track, std::string_view kind, std::string_view subject) {
  if (log_ != nullptr) log_->add(closed(track, kind, subject));
}

void schedule_step(Simulator& simulator, Time duration, EventAction action, std::string_view track,
                   std::string_view kind, std::string_view subject) {
  const Time end = simulator.now() + duration;
  StepLog* const log = simulator.step_log();
  if (log == nullptr) return simulator.schedule(end, action);
  const StepLog::StepId before = log->current();
  log->set_current(
      log->add({std::string(track), std::string(kind), std::string(subject), simulator.now(), end, before}));
  simulator.schedule(end, action);
  log->set_current(before);
}

}  // namespace sim
