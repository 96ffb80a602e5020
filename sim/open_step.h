// An OpenStep measures a step of a run from its beginning to its end and records it in the simulator's StepLog.
#pragma once

#include <string_view>

#include "sim/event_action.h"
#include "sim/step_log.h"
#include "sim/units.h"

namespace c3sim::sim {

class Simulator;

// The step begins when the OpenStep is constructed. Without a StepLog in the simulator it does nothing.
class OpenStep {
 public:
  explicit OpenStep(const Simulator& simulator);

  bool recorded() const { return log_ != nullptr; }  // false: callers need not build texts
  // Records the step as ended now. What the running process does next follows from the step.
  void end(std::string_view track, std::string_view kind, std::string_view subject = {});
  // Records the step as ended now for display only: no later step follows from it.
  void show(std::string_view track, std::string_view kind, std::string_view subject = {});

 private:
  StepLog::Step closed(std::string_view track, std::string_view kind, std::string_view subject) const;

  const Simulator* simulator_;
  StepLog* log_;
  Time begin_;
  StepLog::StepId after_;
};

// Runs `action` after `duration` and records that time as a step, such as a signal in flight that no process waits on.
void schedule_step(Simulator& simulator, Time duration, EventAction action, std::string_view track,
                   std::string_view kind, std::string_view subject = {});

}  // namespace c3sim::sim
