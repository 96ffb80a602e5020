// What a run consisted of, step by step, and what let each step begin: for pictures of a run and for its critical path.
// An event carries the step that led to it: what wakes a process (a delay, a permit, a word, a latch) hands its own
// last step on, so that models say only where a step begins and ends.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/event_action.h"
#include "sim/units.h"

namespace sim {

class Simulator;

class StepLog {
 public:
  using StepId = std::size_t;
  static constexpr StepId none = 0;

  struct Step {
    std::string track;    // who was at it: "host.thread0", "gpu0.sdma2.queue0"
    std::string kind;     // "fetch"
    std::string subject;  // of what: "packet 0 COPY_LINEAR"; may be empty
    Time begin{0};
    Time end{0};
    StepId after = none;  // whose end let it begin, or none: nothing that is recorded
  };

  StepLog() = default;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  StepId add(Step step);
  const Step& step(StepId id) const { return steps_[id - 1]; }
  std::size_t size() const { return steps_.size(); }  // ids are 1 to size()

  // The last step that ended at `end` or, if none did, before it; and what let it begin, back to the first step that
  // began at `begin` or before. Oldest first; where each step begins when the one before ends, they fill the time.
  std::vector<StepId> critical_path(Time begin, Time end) const;

  // For the simulator and for open steps: the step that led to the event now running, and an action that will find the
  // present one so.
  StepId current() const { return current_; }
  void set_current(StepId step) { current_ = step; }
  EventAction carry(EventAction action);

 private:
  struct Carried {
    EventAction action;
    StepId step = none;
  };
  void run_carried(std::size_t slot);

  std::vector<Step> steps_;
  StepId current_ = none;
  std::deque<Carried> carried_;  // by slot
  std::vector<std::size_t> free_slots_;
};

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

}  // namespace sim
