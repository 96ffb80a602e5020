#include "models/machine/memory_word.h"

#include <gtest/gtest.h>

namespace c3sim::models {
namespace {

using sim::operator""_ns;

sim::Task<> note_when(MemoryWord& word, Condition condition, sim::Simulator& simulator, sim::Time& at) {
  co_await word.wait(condition, "the test's word");
  at = simulator.now();
}
sim::Task<> count_down(MemoryWord& word, sim::Simulator& simulator) {
  for (int i = 0; i < 3; ++i) {
    co_await simulator.delay(10_ns);
    word.add(-1);
  }
}

TEST(MemoryWord, WakesEachWatcherAtTheWriteThatMeetsItsCondition) {
  sim::Simulator simulator;
  MemoryWord word(simulator, "signal", 3);
  sim::Time at_most_two{-1}, zero{-1}, three{-1};
  simulator.spawn("a", note_when(word, {Comparison::at_most, 2}, simulator, at_most_two));
  simulator.spawn("b", note_when(word, {Comparison::equal, 0}, simulator, zero));
  simulator.spawn("c", note_when(word, {Comparison::at_least, 3}, simulator, three));
  simulator.spawn("writer", count_down(word, simulator));
  simulator.run();
  EXPECT_EQ(three, 0_ns);  // holds from the start
  EXPECT_EQ(at_most_two, 10_ns);
  EXPECT_EQ(zero, 30_ns);
  EXPECT_EQ(word.written_at(), 30_ns);
}

TEST(MemoryWord, WatcherOfAValueThatNeverComesIsADeadlockThatNamesTheWord) {
  sim::Simulator simulator;
  MemoryWord word(simulator, "signal 7", 1);
  sim::Time at{-1};
  simulator.spawn("watcher", note_when(word, {Comparison::equal, 0}, simulator, at));
  try {
    simulator.run();
    FAIL() << "no deadlock";
  } catch (const sim::Deadlock& deadlock) {
    ASSERT_EQ(deadlock.blocked().size(), 1U);
    EXPECT_NE(deadlock.blocked().front().waits_for.find("signal 7"), std::string::npos);
  }
}

}  // namespace
}  // namespace c3sim::models
