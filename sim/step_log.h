// A StepLog records the steps of a run and which step let each one begin, for pictures of the run and its critical
// path. Events carry the step that led to them: a process is woken with the last step of what woke it (a delay, a
// permit, a word, a latch). Models therefore say only where a step begins and ends.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "sim/event_queue.h"
#include "sim/units.h"

namespace c3sim::sim {

class StepLog {
 public:
  using StepId = std::size_t;
  static constexpr StepId none = 0;

  struct Step {
    std::string track;    // who performed it: "host.thread0", "gpu0.sdma2.queue0"
    std::string kind;     // what it did: "fetch"
    std::string subject;  // what it handled: "packet 0 COPY_LINEAR"; may be empty
    Time begin{0};
    Time end{0};
    StepId after = none;  // the step whose end let it begin; none: no recorded step
  };

  StepLog() = default;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  StepId add(Step step);
  const Step& step(StepId id) const { return steps_[id - 1]; }
  std::size_t size() const { return steps_.size(); }  // ids are 1 to size()

  // Returns the last step that ended by `end` and, before it, the chain of steps that let it begin, oldest first, as
  // far as they ended after `begin`. Where each step begins when the previous one ends, they fill the time.
  std::vector<StepId> critical_path(Time begin, Time end) const;

  // These are for Simulator and OpenStep. current() is the step that led to the running event; carry() returns an
  // action that runs `action` with the present current() restored.
  StepId current() const { return current_; }
  void set_current(StepId step) { current_ = step; }
  EventAction carry(EventAction action);

 private:
  struct Carried {
    EventAction action;
    StepId step = none;
  };

  std::vector<Step> steps_;
  StepId current_ = none;
  std::deque<Carried> carried_;  // indexed by slot
  std::vector<std::size_t> free_slots_;
};

}  // namespace c3sim::sim
