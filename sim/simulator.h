// A Simulator is one simulation: its clock, event queue and processes. It knows nothing of what it simulates. Events
// run in order of (time, sequence of scheduling), so that the same input gives the same run everywhere.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/frame_pool.h"
#include "sim/task.h"
#include "sim/units.h"
#include "sim/waiting_line.h"

namespace c3sim::sim {

class StepLog;

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
  void at_end_of_instant(EventAction action);

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
  void require_all_finished() const;

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

}  // namespace c3sim::sim
