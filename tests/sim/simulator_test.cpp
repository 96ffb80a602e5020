#include "sim/simulator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/gate.h"

namespace c3sim::sim {
namespace {

using Log = std::vector<std::string>;

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// What a test runs, and what its processes note.
struct SimulatorTest : ::testing::Test {
  Simulator simulator;
  Log log;
};
using Simulators = SimulatorTest;
using EndOfInstant = SimulatorTest;
using Deadlocks = SimulatorTest;
using SimulatorErrors = SimulatorTest;
using Gates = SimulatorTest;
using Latches = SimulatorTest;
using Semaphores = SimulatorTest;

Task<> sleep_and_note(Simulator& simulator, Log& log, std::string name, Time first, Time second) {
  log.push_back(name + " starts");
  co_await simulator.delay(first);
  log.push_back(name + " wakes");
  co_await simulator.delay(second);
  log.push_back(name + " ends");
}

TEST_F(Simulators, TimeIsThatOfTheRunningEvent) {
  std::vector<Time> seen;
  const auto look = [this, &seen] { seen.push_back(simulator.now()); };
  simulator.schedule(Time(7), look);
  simulator.schedule(Time(3), look);
  EXPECT_EQ(simulator.now(), Time(0));
  simulator.run();
  EXPECT_EQ(seen, (std::vector<Time>{Time(3), Time(7)}));
  EXPECT_EQ(simulator.now(), Time(7));
  EXPECT_EQ(simulator.events_executed(), 2u);
}

// A delay ends at its tick, not one earlier: an event for 99 sees the process asleep, and an event for 100, scheduled
// after the delay began, sees it awake.
TEST_F(Simulators, ADelayEndsAtItsTickAndNotBefore) {
  std::vector<std::size_t> entries;
  const auto look = [this, &entries] { entries.push_back(log.size()); };
  simulator.spawn("p", sleep_and_note(simulator, log, "p", Time(100), Time(50)));
  simulator.schedule(Time(1), [] {});
  const auto look_later = [](Simulator& s, std::vector<std::size_t>& seen, const Log& watched) -> Task<> {
    co_await s.delay(Time(99));
    seen.push_back(watched.size());
    co_await s.delay(Time(1));
    seen.push_back(watched.size());
  };
  simulator.spawn("q", look_later(simulator, entries, log));
  simulator.schedule(Time(150), look);
  simulator.run();
  // At 99 the log has "p starts". At 100 it also has "p wakes", as p's event for 100 was scheduled before q's. At 150
  // the look was scheduled before p's last delay began and so comes first.
  EXPECT_EQ(entries, (std::vector<std::size_t>{1, 2, 2}));
  EXPECT_EQ(log, (Log{"p starts", "p wakes", "p ends"}));
  EXPECT_EQ(simulator.now(), Time(150));
}

TEST_F(Simulators, ProcessesTakeTurnsInOrderOfSpawningWhateverTheirDelays) {
  for (const Time delay : {Time(0), Time(5)}) {
    Simulator own;
    Log turns;
    own.spawn("a", sleep_and_note(own, turns, "a", delay, delay));
    EXPECT_TRUE(turns.empty()) << "a process starts through the queue";
    own.spawn("b", sleep_and_note(own, turns, "b", delay, delay));
    own.run();
    EXPECT_EQ(turns, (Log{"a starts", "b starts", "a wakes", "b wakes", "a ends", "b ends"}));
    EXPECT_EQ(own.now(), 2 * delay);
  }
}

TEST_F(Simulators, RunMayBeCalledAgainAfterMoreSpawns) {
  simulator.spawn("a", sleep_and_note(simulator, log, "a", Time(5), Time(5)));
  simulator.run();
  simulator.spawn("b", sleep_and_note(simulator, log, "b", Time(1), Time(1)));
  simulator.run();
  EXPECT_EQ(log, (Log{"a starts", "a wakes", "a ends", "b starts", "b wakes", "b ends"}));
  EXPECT_EQ(simulator.now(), Time(12));
}

TEST_F(Simulators, TwoSimulatorsInOneProcessDoNotMeet) {
  Simulator one;
  Simulator other;
  Log log_one;
  Log log_other;
  one.spawn("a", sleep_and_note(one, log_one, "a", Time(5), Time(5)));
  other.spawn("a", sleep_and_note(other, log_other, "a", Time(50), Time(50)));
  other.run();
  EXPECT_EQ(one.now(), Time(0));
  EXPECT_TRUE(log_one.empty());
  one.run();
  EXPECT_EQ(one.now(), Time(10));
  EXPECT_EQ(other.now(), Time(100));
  EXPECT_EQ(log_one, log_other);
}

TEST_F(EndOfInstant, ItComesAfterAllEventsOfTheInstantAndBeforeTimeAdvances) {
  simulator.schedule(Time(5), [this] {
    log.push_back("ordinary");
    simulator.at_end_of_instant([this] { log.push_back("end at " + to_string(simulator.now())); });
    simulator.schedule(simulator.now(), [this] { log.push_back("scheduled for now"); });
  });
  simulator.schedule(Time(5), [this] { log.push_back("second"); });
  simulator.schedule(Time(6), [this] { log.push_back("next instant"); });
  simulator.run();
  EXPECT_EQ(log, (Log{"ordinary", "second", "scheduled for now", "end at 5ps", "next instant"}));
}

TEST_F(EndOfInstant, EventsItSchedulesForNowRunBeforeTheNextEndOfInstant) {
  simulator.at_end_of_instant([this] {
    log.push_back("first end");
    simulator.schedule(simulator.now(), [this] {
      log.push_back("event");
      simulator.at_end_of_instant([this] { log.push_back("third end"); });
    });
  });
  simulator.at_end_of_instant([this] { log.push_back("second end"); });
  simulator.schedule(Time(1), [this] { log.push_back("next instant"); });
  simulator.run();
  EXPECT_EQ(log, (Log{"first end", "event", "second end", "third end", "next instant"}));
  EXPECT_EQ(simulator.events_executed(), 5u);
}

TEST_F(EndOfInstant, TheLastInstantOfARunHasAnEndToo) {
  simulator.schedule(Time(9), [] {});
  simulator.run();
  simulator.at_end_of_instant([this] { log.push_back("end"); });
  simulator.run();
  EXPECT_EQ(log, (Log{"end"}));
  EXPECT_EQ(simulator.now(), Time(9));
}

Task<> acquire_twice(Simulator& simulator, Semaphore& semaphore) {
  co_await simulator.delay(Time(5));
  co_await semaphore.acquire();
  co_await semaphore.acquire();
}
Task<> pass(Simulator&, Gate& gate) { co_await gate.wait(); }

TEST_F(Deadlocks, EachBlockedProcessIsNamedWithWhatItWaitsFor) {
  Semaphore slots(simulator, "slots", 1);
  Gate ready(simulator, "ready");
  simulator.spawn("copy", acquire_twice(simulator, slots));
  simulator.spawn("kernel", pass(simulator, ready));
  try {
    simulator.run();
    FAIL() << "no deadlock";
  } catch (const Deadlock& deadlock) {
    EXPECT_STREQ(deadlock.what(),
                 "deadlock at 5ps: nothing is left to happen, but "
                 "'copy' waits for a permit of semaphore 'slots', "
                 "'kernel' waits for gate 'ready'");
    ASSERT_EQ(deadlock.blocked().size(), 2u);
    EXPECT_EQ(deadlock.blocked()[1].process, "kernel");
    EXPECT_EQ(deadlock.blocked()[1].waits_for, "gate 'ready'");
  }
}

TEST_F(Deadlocks, ABlockedProcessGoesOnInALaterRun) {
  Gate ready(simulator, "ready");
  simulator.spawn("kernel", pass(simulator, ready));
  EXPECT_THROW(simulator.run(), Deadlock);
  ready.open();
  EXPECT_NO_THROW(simulator.run());
}

Task<> fail(Simulator& simulator) {
  co_await simulator.delay(Time(3));
  throw std::runtime_error("no such engine");
}
Task<> fail_check(Simulator& simulator) {
  co_await simulator.delay(Time(3));
  SIM_CHECK(simulator.now() == Time(4));
}

TEST_F(SimulatorErrors, AnExceptionThatLeavesAProcessEndsTheRun) {
  simulator.spawn("failing", fail(simulator));
  simulator.spawn("p", sleep_and_note(simulator, log, "p", Time(2), Time(2)));
  EXPECT_EQ(message_of([&] { simulator.run(); }), "no such engine");
  EXPECT_EQ(simulator.now(), Time(3));
  EXPECT_EQ(log, (Log{"p starts", "p wakes"}));
  // The other process is unaffected.
  simulator.run();
  EXPECT_EQ(log, (Log{"p starts", "p wakes", "p ends"}));
}

TEST_F(SimulatorErrors, WhatAModelDoesWrongEndsTheRunAndIsSaid) {
  struct Mistake {
    std::function<void(Simulator&)> prepare;
    const char* message;
  };
  const std::vector<Mistake> mistakes{
      {[](Simulator& s) { s.schedule(Time(1), [] { throw std::runtime_error("event"); }); }, "event"},
      {[](Simulator& s) { s.schedule(Time(6), [] { SIM_CHECK(false); }); }, " at 6ps"},
      {[](Simulator& s) { s.schedule(Time(5), [&s] { s.schedule(Time(4), {}); }); }, "an event lies in the past"},
      {[](Simulator& s) { s.schedule(Time(1), [&s] { s.run(); }); }, "run() is not called from within a run"},
      {[](Simulator& s) { s.spawn("p", Task<>()); }, "a process needs a task that has not run"},
      {[](Simulator& s) {
         (void)s.suspend(std::noop_coroutine(), {"nothing", ""});
       },
       "only a running process can wait"}};
  for (const auto& [prepare, message] : mistakes) {
    const std::string said = message_of([&prepare = prepare] {
      Simulator wrong;
      prepare(wrong);
      wrong.run();
    });
    EXPECT_NE(said.find(message), std::string::npos) << said;
  }
}

TEST_F(SimulatorErrors, AFailedCheckTellsTimeAndProcess) {
  simulator.spawn("gpu0.sdma3", fail_check(simulator));
  const std::string message = message_of([&] { simulator.run(); });
  EXPECT_EQ(message.rfind("check failed: simulator.now() == Time(4) (sim/simulator_test.cpp:", 0), 0u) << message;
  EXPECT_TRUE(message.ends_with(" at 3ps in process 'gpu0.sdma3'")) << message;
}

TEST_F(SimulatorErrors, ADelayIsNeitherNegativeNorBeyondTheEndOfTime) {
  const char* const sentence = "a delay ends between now and the end of time";
  EXPECT_NE(message_of([&] { (void)simulator.delay(Time(-1)); }).find(sentence), std::string::npos);
  EXPECT_NO_THROW((void)simulator.delay(Time::max()));
  simulator.schedule(Time(1), [] {});
  simulator.run();
  EXPECT_NE(message_of([&] { (void)simulator.delay(Time::max()); }).find(sentence), std::string::npos);
}

// A time-out and an answer both end this awaitable, as in a careless model.
struct EndsTwice {
  Simulator& simulator;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const {
    const EventAction go_on = simulator.suspend(waiter, {"an answer", ""});
    simulator.schedule(Time(1), go_on);
    simulator.schedule(Time(1), go_on);
  }
  void await_resume() const {}
};

Task<> wait_carelessly(Simulator& simulator, Gate& gate) {
  co_await EndsTwice{simulator};
  co_await gate.wait();
}

// The second event would end the wait at the gate, which is shut.
TEST_F(SimulatorErrors, AWaitThatEndsTwiceIsRefused) {
  Gate gate(simulator, "gate");
  simulator.spawn("p", wait_carelessly(simulator, gate));
  EXPECT_NE(message_of([&] { simulator.run(); }).find("a wait ends once"), std::string::npos);
}

Task<> tick(Simulator& simulator, int times) {
  for (int i = 0; i < times; ++i) co_await simulator.delay(Time(1));
}

// A short run asks nobody whether to stop. A long run asks, ends when told to, and otherwise goes on.
TEST_F(Simulators, EndsWhereItsThreadIsInterrupted) {
  struct Enough {};
  int asked = 0;
  Simulator shorter;
  {
    const Interruption interruption([&asked] {
      if (++asked == 2) throw Enough();
    });
    shorter.spawn("ticker", tick(shorter, 100));
    shorter.run();
    EXPECT_EQ(asked, 0);
    simulator.spawn("ticker", tick(simulator, 100'000));
    EXPECT_THROW(simulator.run(), Enough);
    EXPECT_LT(simulator.now(), Time(10'000));
  }
  simulator.run();
  EXPECT_EQ(simulator.now(), Time(100'000));
  EXPECT_EQ(asked, 2);
}

// 1000 runs of 100 events are 100,000 events, which ask about 24 times (every 4096 events), though no single run is
// long.
TEST_F(Simulators, ManyShortRunsAskAsALongOneDoes) {
  int asked = 0;
  const Interruption interruption([&asked] { ++asked; });
  for (int run = 0; run < 1000; ++run) {
    Simulator shorter;
    shorter.spawn("ticker", tick(shorter, 99));
    shorter.run();
  }
  EXPECT_GE(asked, 20);
  EXPECT_LE(asked, 30);
}

// However delays are drawn, processes wake in the order of time and, at equal times, of spawning.
RC_GTEST_PROP(SimulatorProperty, ProcessesWakeInOrderOfTimeThenSpawning, ()) {
  using Woken = std::vector<std::pair<Time, int>>;
  const auto sleep = [](Simulator& on, Woken& order, Time duration, int which) -> Task<> {
    co_await on.delay(duration);
    order.emplace_back(on.now(), which);
  };
  const auto durations = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 20));
  Simulator simulator;
  Woken woken;
  int number = 0;
  for (const int duration : durations) {
    simulator.spawn("sleeper", sleep(simulator, woken, Time(duration), number++));
  }
  simulator.run();
  RC_ASSERT(woken.size() == durations.size());
  RC_ASSERT(std::is_sorted(woken.begin(), woken.end()));
  for (const auto& [at, who] : woken) RC_ASSERT(at == Time(durations[static_cast<std::size_t>(who)]));
}

TEST(Check, AFailureCarriesExpressionFileAndLineAndAConditionThatHoldsDoesNothing) {
  EXPECT_NO_THROW(SIM_CHECK(2 > 1));
  const std::string message = message_of([] { SIM_CHECK(1 + 1 == 3 && "arithmetic holds"); });
  EXPECT_EQ(message.rfind("check failed: 1 + 1 == 3 && \"arithmetic holds\" (sim/simulator_test.cpp:", 0), 0u)
      << message;
  EXPECT_STREQ(InternalError("a", "/somewhere/else/sim/task.h", 7).what(), "check failed: a (sim/task.h:7)");
  EXPECT_STREQ(InternalError("a", "task.h", 7).what(), "check failed: a (task.h:7)");
}

TEST(Check, TheInnermostTimeAndProcessAreKept) {
  InternalError error("a", "sim/task.h", 7);
  error.locate("2200000ps", "gpu0.sdma3");
  error.locate("9ps", "outer");
  EXPECT_STREQ(error.what(), "check failed: a (sim/task.h:7) at 2200000ps in process 'gpu0.sdma3'");
  InternalError of_no_process("a", "sim/task.h", 7);
  of_no_process.locate("5ps", "");
  EXPECT_STREQ(of_no_process.what(), "check failed: a (sim/task.h:7) at 5ps");
}

Task<> pass(Simulator& simulator, Gate& gate, Log& log, std::string name) {
  co_await gate.wait();
  log.push_back(name + " @" + std::to_string(simulator.now().count()));
}

TEST_F(Gates, AllWhoWaitGoOnAtTheInstantItOpensInOrderOfArrival) {
  Gate gate(simulator, "gate");
  simulator.spawn("a", pass(simulator, gate, log, "a"));
  simulator.spawn("b", pass(simulator, gate, log, "b"));
  simulator.schedule(Time(9), [this, &gate] {
    log.push_back(gate.is_open() ? "open" : "closed");
    gate.open();
    log.push_back(gate.is_open() ? "open" : "closed");
  });
  simulator.run();
  EXPECT_EQ(log, (Log{"closed", "open", "a @9", "b @9"}));
}

TEST_F(Gates, AnOpenGateHoldsNobodyUpAndMayBeOpenedAgain) {
  Gate gate(simulator, "gate");
  gate.open();
  gate.open();
  simulator.spawn("a", pass(simulator, gate, log, "a"));
  simulator.run();
  EXPECT_EQ(log, (Log{"a @0"}));
  EXPECT_EQ(simulator.events_executed(), 1u);  // The only event is the start of the process; there is no wake-up.
}

Task<> work(Simulator& simulator, Latch& done, Time duration) {
  co_await simulator.delay(duration);
  done.count_down();
}

Task<> await_all(Simulator& simulator, Latch& done, Log& log) {
  co_await done.wait();
  log.push_back("all @" + std::to_string(simulator.now().count()));
}

TEST_F(Latches, ItOpensWithTheLastCountAndNotBefore) {
  Latch done(simulator, "done", 3);
  simulator.spawn("waiting", await_all(simulator, done, log));
  for (const int duration : {30, 10, 20}) simulator.spawn("worker", work(simulator, done, Time(duration)));
  simulator.schedule(Time(29), [this, &done] { log.push_back(std::to_string(done.count()) + " left"); });
  simulator.run();
  EXPECT_EQ(log, (Log{"1 left", "all @30"}));
}

TEST_F(Latches, ACountOfZeroIsOpenAndNotCountedDown) {
  Latch done(simulator, "done", 0);
  simulator.spawn("waiting", await_all(simulator, done, log));
  simulator.run();
  EXPECT_EQ(log, (Log{"all @0"}));
  EXPECT_THROW(done.count_down(), InternalError);
}

Task<> hold(Simulator& simulator, Semaphore& semaphore, Log& log, std::string name, std::uint64_t permits,
            Time duration) {
  co_await semaphore.acquire(permits);
  log.push_back(name + " @" + std::to_string(simulator.now().count()));
  co_await simulator.delay(duration);
  semaphore.release(permits);
}

struct HolderOfPermits {
  const char* name;
  std::uint64_t permits;
};

// Returns when each holder begins, if holders ask in turn for these permits and hold them for 10.
Log begins_of(std::uint64_t permits, const std::vector<HolderOfPermits>& holders) {
  Simulator simulator;
  Semaphore semaphore(simulator, "slots", permits);
  Log log;
  for (const HolderOfPermits& holder : holders) {
    simulator.spawn(holder.name, hold(simulator, semaphore, log, holder.name, holder.permits, Time(10)));
  }
  simulator.run();
  EXPECT_EQ(semaphore.available(), permits);
  return log;
}

// The first two begin at 0, the next two at 10, and the last at 20.
TEST_F(Semaphores, NoMoreHoldersThanPermits) {
  EXPECT_EQ(begins_of(2, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}),
            (Log{"a @0", "b @0", "c @10", "d @10", "e @20"}));
}

// b wants all three permits and waits for a until 10. c would find two free permits at 0 but waits behind b until 20.
TEST_F(Semaphores, ALargeRequestIsNotOvertakenByASmallOne) {
  EXPECT_EQ(begins_of(3, {{"a", 1}, {"b", 3}, {"c", 1}}), (Log{"a @0", "b @10", "c @20"}));
}

TEST_F(Semaphores, OneReleaseServesAllWhomItSuffices) {
  Semaphore semaphore(simulator, "slots", 0);
  simulator.spawn("a", hold(simulator, semaphore, log, "a", 1, Time(1)));
  simulator.spawn("b", hold(simulator, semaphore, log, "b", 2, Time(1)));
  simulator.schedule(Time(5), [&semaphore] { semaphore.release(3); });
  simulator.run();
  EXPECT_EQ(log, (Log{"a @5", "b @5"}));
}

TEST_F(Semaphores, WithoutWaitingThereIsNoOvertakingEither) {
  Semaphore semaphore(simulator, "slots", 1);
  EXPECT_FALSE(semaphore.try_acquire(2));
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release();
  std::optional<bool> overtook;
  simulator.spawn("a", hold(simulator, semaphore, log, "a", 2, Time(1)));
  simulator.schedule(Time(5), [&semaphore, &overtook] {
    overtook = semaphore.try_acquire();
    semaphore.release();
  });
  simulator.run();
  EXPECT_EQ(overtook, false);
  EXPECT_EQ(log, (Log{"a @5"}));
}

}  // namespace
}  // namespace c3sim::sim
