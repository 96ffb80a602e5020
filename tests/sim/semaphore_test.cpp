#include "sim/semaphore.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace c3sim::sim {
namespace {

using Log = std::vector<std::string>;

Task<> hold(Simulator& simulator, Semaphore& semaphore, Log& log, std::string name, std::uint64_t permits,
            Time duration) {
  co_await semaphore.acquire(permits);
  log.push_back(name + " @" + std::to_string(simulator.now().count()));
  co_await simulator.delay(duration);
  semaphore.release(permits);
}

// Two permits, each held for 10: the first two begin at 0, the next two at 10, the last at 20.
TEST(Semaphore, NoMoreHoldersThanPermits) {
  Simulator simulator;
  Semaphore semaphore(simulator, "slots", 2);
  Log log;
  for (const char* const name : {"a", "b", "c", "d", "e"}) {
    simulator.spawn(name, hold(simulator, semaphore, log, name, 1, Time(10)));
  }
  simulator.run();
  EXPECT_EQ(log, (Log{"a @0", "b @0", "c @10", "d @10", "e @20"}));
  EXPECT_EQ(semaphore.available(), 2u);
}

// b wants all three permits and waits for a until 10; c would find two free ones at 0 but is behind b, until 20.
TEST(Semaphore, ALargeRequestIsNotOvertakenByASmallOne) {
  Simulator simulator;
  Semaphore semaphore(simulator, "slots", 3);
  Log log;
  simulator.spawn("a", hold(simulator, semaphore, log, "a", 1, Time(10)));
  simulator.spawn("b", hold(simulator, semaphore, log, "b", 3, Time(10)));
  simulator.spawn("c", hold(simulator, semaphore, log, "c", 1, Time(10)));
  simulator.run();
  EXPECT_EQ(log, (Log{"a @0", "b @10", "c @20"}));
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
