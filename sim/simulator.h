// A Simulator is one simulation: its clock, event queue and processes. It knows nothing of what it simulates. Events
// run in order of (time, sequence of scheduling), so that the same input gives the same run everywhere.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/step_log.h"
#include "sim/task.h"
#include "sim/units.h"

namespace c3sim::sim {

// A Wait says in an error message what a suspended process waits for: "an item of channel" "gpu0.doorbells". Both texts
// are references and must live as long as the wait.
struct Wait {
  std::string_view what;
  std::string_view name;
};

// Deadlock reports a run that ended while processes still wait, as nothing is left that could wake them.
class Deadlock : public std::runtime_error {
 public:
  struct Blocked {
    std::string process;
    std::string waits_for;
  };
  Deadlock(Time at, std::vector<Blocked> blocked);
  const std::vector<Blocked>& blocked() const { return blocked_; }  // in the order they were spawned

 private:
  std::vector<Blocked> blocked_;
};

// While an Interruption lives, runs on its thread call `ask` every few thousand events. An exception from `ask` ends
// the run, for callers who no longer want the answer. Of nested ones only the innermost is asked.
class Interruption {
 public:
  explicit Interruption(std::function<void()> ask);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  friend class Simulator;
  friend void ask_interruption();
  std::function<void()> ask_;
  const Interruption* before_;
};

class Simulator {
 public:
  Simulator();
  ~Simulator();  // destroys the frames of unfinished processes, in the order they were spawned
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  Time now() const { return now_; }
  // Runs `action` at `at` (not before now), after everything already scheduled for that instant.
  void schedule(Time at, EventAction action);
  // Runs `action` before time advances, once no scheduled event is left at this instant. Events that it schedules for
  // this instant run first; only then does the next such action run, including one that these events asked for.
  void at_end_of_instant(EventAction action) {
    end_of_instant_.push_back(step_log_ == nullptr ? action : step_log_->carry(action));
  }

  // Starts a process that nobody awaits, through an event at this instant. An exception that leaves it ends run() with
  // that exception.
  void spawn(std::string name, Task<> process);
  // Runs until no event is left. Throws Deadlock if spawned processes still wait then. Called again, also after an
  // exception, it goes on where the last run ended.
  void run();

  // co_await simulator.delay(d) resumes the process `duration` (>= 0) later, after everything already scheduled for
  // that instant.
  auto delay(Time duration);

  // Serves await_suspend of awaitables: notes what the running process waits for and returns the action that resumes it
  // at `waiter`. The action runs once, as an event.
  EventAction suspend(std::coroutine_handle<> waiter, Wait wait);

  // Records the steps of the run in `log`, which must outlive it, from now on. See sim/step_log.h.
  void record(StepLog& log) { step_log_ = &log; }
  StepLog* step_log() const { return step_log_; }  // null: nothing is recorded

  // Returns the number of events run so far, including those at the end of an instant.
  std::uint64_t events_executed() const { return events_executed_; }
  FramePool& frame_pool() { return frame_pool_; }

 private:
  struct Process;
  void resume(Process& process, std::uint64_t wait_number);
  void finish(Process& process);
  bool run_next_event();

  FramePool frame_pool_;  // declared first: all other members may own frames
  EventQueue queue_;
  WaitingLine<EventAction> end_of_instant_;
  std::list<Process> processes_;  // unfinished, in order of spawning
  Process* running_ = nullptr;
  StepLog* step_log_ = nullptr;
  Time now_{0};
  std::uint64_t events_executed_ = 0;
  bool in_run_ = false;
};

inline auto Simulator::delay(Time duration) {
  SIM_CHECK(duration >= Time::zero() && duration <= Time::max() - now_ &&
            "a delay ends between now and the end of time");
  struct Delay {
    Simulator& simulator;
    Time duration;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      simulator.schedule(simulator.now() + duration, simulator.suspend(waiter, {"the end of a delay", ""}));
    }
    void await_resume() const {}
  };
  return Delay{*this, duration};
}

// An OpenStep measures a step of a run from its beginning to its end and records it in the simulator's StepLog.
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
