#include "sim/gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/check.h"

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

TEST(Latch, ACountOfZeroIsOpenFromTheStart) {
  Simulator simulator;
  Latch done(simulator, "done", 0);
  Log log;
  simulator.spawn("waiting", await_all(simulator, done, log));
  simulator.run();
  EXPECT_EQ(log, (Log{"all @0"}));
}

TEST(Latch, CountingBelowZeroIsRefused) {
  Simulator simulator;
  Latch done(simulator, "done", 1);
  done.count_down();
  EXPECT_THROW(done.count_down(), InternalError);
}

}  // namespace
}  // namespace c3sim::sim
