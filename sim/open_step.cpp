#include "sim/open_step.h"

#include <string>

#include "sim/simulator.h"

namespace c3sim::sim {

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

}  // namespace c3sim::sim
