// What a run consisted of, step by step, and what let each step begin: for pictures of a run and for its critical path.
// An event carries the step that led to it: what wakes a process (a delay, a permit, a word, a latch) hands its own
// last step on, so that models say only where a step begins and ends.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "sim/event_action.h"
#include "sim/units.h"

namespace c3sim::sim {

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

}  // namespace c3sim::sim
