#include "sim/simulator.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "sim/interruption.h"

namespace c3sim::sim {
namespace {
std::string deadlock_message(Time at, const std::vector<Deadlock::Blocked>& blocked) {
  std::string message = fmt::format("deadlock at {}ps: nothing is left to happen, but", at.count());
  const char* separator = " ";
  for (const auto& [process, waits_for] : blocked) {
    message += fmt::format("{}'{}' waits for {}", separator, process, waits_for);
    separator = ", ";
  }
  return message;
}

std::string in_words(const Wait& wait) {
  return wait.name.empty() ? std::string(wait.what) : fmt::format("{} '{}'", wait.what, wait.name);
}
}  // namespace

Deadlock::Deadlock(Time at, std::vector<Blocked> blocked)
    : std::runtime_error(deadlock_message(at, blocked)), blocked_(std::move(blocked)) {}

namespace {
thread_local const Interruption* interruption = nullptr;
// Counts this thread's events since `ask` was last called, over all simulators: thousands of short runs ask, too.
thread_local std::uint64_t events_unasked = 0;
constexpr std::uint64_t events_between_asking = 4096;
}  // namespace

Interruption::Interruption(std::function<void()> ask) : ask_(std::move(ask)), before_(interruption) {
  interruption = this;
}

Interruption::~Interruption() { interruption = before_; }

void ask_interruption() {
  if (interruption != nullptr) interruption->ask_();
}

bool is_interruptible() { return interruption != nullptr; }

struct Simulator::Process {
  Simulator& simulator;
  std::string name;
  Task<> body;
  std::coroutine_handle<> suspended_at;  // null while it runs
  Wait wait;
  std::uint64_t waits = 0;  // number of waits begun; distinguishes the action that ends this wait from a stray one
  std::list<Process>::iterator self{};
};

Simulator::Simulator() = default;

Simulator::~Simulator() {
  while (!processes_.empty()) processes_.pop_front();
}

void Simulator::schedule(Time at, EventAction action) {
  SIM_CHECK(at >= now_ && "an event lies in the past");
  queue_.push(at, step_log_ == nullptr ? action : step_log_->carry(action));
}

void Simulator::spawn(std::string name, Task<> body) {
  const std::coroutine_handle<> beginning = body.coroutine();
  SIM_CHECK(beginning && !beginning.done() && "a process needs a task that has not run");
  Process& process = processes_.emplace_back(Process{.simulator = *this,
                                                     .name = std::move(name),
                                                     .body = std::move(body),
                                                     .suspended_at = beginning,
                                                     .wait = {"its first event", ""}});
  process.self = std::prev(processes_.end());
  schedule(now_, [&process] { process.simulator.resume(process, 0); });
}

EventAction Simulator::suspend(std::coroutine_handle<> waiter, Wait wait) {
  SIM_CHECK(running_ != nullptr && "only a running process can wait");
  SIM_CHECK(!running_->suspended_at && "a process waits for one thing at a time");
  running_->suspended_at = waiter;
  running_->wait = wait;
  return [process = running_, number = ++running_->waits] { process->simulator.resume(*process, number); };
}

void Simulator::resume(Process& process, std::uint64_t wait_number) {
  SIM_CHECK(process.suspended_at && process.waits == wait_number && "a wait ends once");
  running_ = &process;
  std::exchange(process.suspended_at, nullptr).resume();
  running_ = nullptr;
  if (process.body.coroutine().done()) finish(process);
}

void Simulator::finish(Process& process) {
  std::list<Process> finished;  // keeps the process until its exception, if any, is on its way
  finished.splice(finished.begin(), processes_, process.self);
  try {
    process.body.coroutine().promise().take_result();
  } catch (InternalError& error) {
    error.locate(fmt::format("{}ps", now_.count()), process.name);
    throw;
  }
}

void Simulator::run() {
  struct InRun {
    bool& flag;
    explicit InRun(bool& in_run) : flag(in_run) { flag = true; }
    ~InRun() { flag = false; }
  };
  SIM_CHECK(!in_run_ && "run() is not called from within a run");
  const InRun in_run(in_run_);
  const Interruption* const asking = interruption;
  try {
    while (run_next_event()) {
      if (asking == nullptr || ++events_unasked < events_between_asking) continue;
      events_unasked = 0;
      asking->ask_();
    }
  } catch (InternalError& error) {
    error.locate(fmt::format("{}ps", now_.count()), "");
    throw;
  }
  std::vector<Deadlock::Blocked> blocked;
  for (const Process& process : processes_) blocked.push_back({process.name, in_words(process.wait)});
  if (!blocked.empty()) throw Deadlock(now_, std::move(blocked));
}

bool Simulator::run_next_event() {
  EventAction action;
  if (!end_of_instant_.empty() && (queue_.empty() || queue_.next_time() > now_)) {
    action = end_of_instant_.front();
    end_of_instant_.pop_front();
  } else if (!queue_.empty()) {
    const Event event = queue_.pop();
    now_ = event.at;
    action = event.action;
  } else {
    return false;
  }
  ++events_executed_;
  if (step_log_ != nullptr) step_log_->set_current(StepLog::none);  // unless the action carries a step
  action();
  return true;
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

}  // namespace c3sim::sim
