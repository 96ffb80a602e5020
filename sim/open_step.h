// A step of a run while it is under way.
#pragma once

#include <string_view>

#include "sim/event_action.h"
#include "sim/step_log.h"
#include "sim/units.h"

namespace c3sim::sim {

class Simulator;

// A step under way, from its construction on; without a recording simulator it does nothing.
class OpenStep {
 public:
  explicit OpenStep(const Simulator& simulator);

  bool recorded() const { return log_ != nullptr; }  // whether words for it are worth making
  // It ends now; what the running process does next follows from it.
  void end(std::string_view track, std::string_view kind, std::string_view subject = {});
  // It ends now, without having let anything begin: for pictures alone.
  void show(std::string_view track, std::string_view kind, std::string_view subject = {});

 private:
  StepLog::Step closed(std::string_view track, std::string_view kind, std::string_view subject) const;

  const Simulator* simulator_;
  StepLog* log_;
  Time begin_;
  StepLog::StepId after_;
};

// Runs `action` `duration` from now as the end of a step that nobody attends to: a signal under way.
void schedule_step(Simulator& simulator, Time duration, EventAction action, std::string_view track,
                   std::string_view kind, std::string_view subject = {});

}  // namespace c3sim::sim
