#include "sim/gate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/semaphore.h"

namespace c3sim::sim {
namespace {

using Log = std::vector<std::string>;

Task<> pass(Simulator& simulator, Gate& gate, Log& log, std::string name) {
  co_await gate.wait();
  log.push_back(name + " @" + std::to_string(simulator.now().count()));
}

TEST(Gate, AllWhoWaitGoOnAtTheInstantItOpensInOrderOfArrival) {
  Simulator simulator;
  Gate gate(simulator, "gate");
  Log log;
  simulator.spawn("a", pass(simulator, gate, log, "a"));
  simulator.spawn("b", pass(simulator, gate, log, "b"));
  simulator.schedule(Time(9), [&gate, &log] {
    log.push_back(gate.is_open() ? "open" : "closed");
    gate.open();
    log.push_back(gate.is_open() ? "open" : "closed");
  });
  simulator.run();
  EXPECT_EQ(log, (Log{"closed", "open", "a @9", "b @9"}));
}

TEST(Gate, AnOpenGateHoldsNobodyUpAndMayBeOpenedAgain) {
  Simulator simulator;
  Gate gate(simulator, "gate");
  Log log;
  gate.open();
  gate.open();
  simulator.spawn("a", pass(simulator, gate, log, "a"));
  simulator.run();
  EXPECT_EQ(log, (Log{"a @0"}));
  EXPECT_EQ(simulator.events_executed(), 1u);  // the start of the process, and no wake-up
}

Task<> work(Simulator& simulator, Latch& done, Time duration) {
  co_await simulator.delay(duration);
  done.count_down();
}

Task<> await_all(Simulator& simulator, Latch& done, Log& log) {
  co_await done.wait();
  log.push_back("all @" + std::to_string(simulator.now().count()));
}

TEST(Latch, ItOpensWithTheLastCountAndNotBefore) {
  Simulator simulator;
  Latch done(simulator, "done", 3);
  Log log;
  simulator.spawn("waiting", await_all(simulator, done, log));
  for (const int duration : {30, 10, 20}) simulator.spawn("worker", work(simulator, done, Time(duration)));
  simulator.schedule(Time(29), [&done, &log] { log.push_back(std::to_string(done.count()) + " left"); });
  simulator.run();
  EXPECT_EQ(log, (Log{"1 left", "all @30"}));
}

TEST(Latch, ACountOfZeroIsOpenAndNotCountedDown) {
  Simulator simulator;
  Latch done(simulator, "done", 0);
  Log log;
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

// When each holder begins, of those that ask in turn for some of these permits and hold them for 10.
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

// The first two begin at 0, the next two at 10, the last at 20.
TEST(Semaphore, NoMoreHoldersThanPermits) {
  EXPECT_EQ(begins_of(2, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}),
            (Log{"a @0", "b @0", "c @10", "d @10", "e @20"}));
}

// b wants all three permits and waits for a until 10; c would find two free ones at 0 but is behind b, until 20.
TEST(Semaphore, ALargeRequestIsNotOvertakenByASmallOne) {
  EXPECT_EQ(begins_of(3, {{"a", 1}, {"b", 3}, {"c", 1}}), (Log{"a @0", "b @10", "c @20"}));
}

TEST(Semaphore, OneReleaseServesAllWhomItSuffices) {
  Simulator simulator;
  Semaphore semaphore(simulator, "slots", 0);
  Log log;
  simulator.spawn("a", hold(simulator, semaphore, log, "a", 1, Time(1)));
  simulator.spawn("b", hold(simulator, semaphore, log, "b", 2, Time(1)));
  simulator.schedule(Time(5), [&semaphore] { semaphore.release(3); });
  simulator.run();
  EXPECT_EQ(log, (Log{"a @5", "b @5"}));
}

TEST(Semaphore, WithoutWaitingThereIsNoOvertakingEither) {
  Simulator simulator;
  Semaphore semaphore(simulator, "slots", 1);
  Log log;
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
