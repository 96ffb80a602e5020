#include "sim/channel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace c3sim::sim {
namespace {

using Log = std::vector<std::string>;

// Who got what, and when in picoseconds.
std::string entry(const Simulator& simulator, const std::string& who, int what) {
  return who + " " + std::to_string(what) + " @" + std::to_string(simulator.now().count());
}

Task<> push_items(Simulator& simulator, Channel<int>& channel, Log& log, int first, int count, Time gap) {
  for (int i = first; i < first + count; ++i) {
    co_await simulator.delay(gap);
    co_await channel.push(i);
    log.push_back(entry(simulator, "pushed", i));
  }
}

Task<> pop_items(Simulator& simulator, Channel<int>& channel, Log& log, std::string name, int count, Time gap) {
  for (int i = 0; i < count; ++i) {
    co_await simulator.delay(gap);
    log.push_back(entry(simulator, name, co_await channel.pop()));
  }
}

TEST(Channel, ItemsComeOutInTheOrderTheyWentIn) {
  Simulator simulator;
  Channel<int> channel(simulator, "channel");
  Log log;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(channel.try_push(i));
  EXPECT_EQ(channel.size(), 3u);
  simulator.spawn("p", pop_items(simulator, channel, log, "p", 3, Time(1)));
  simulator.run();
  EXPECT_EQ(log, (Log{"p 0 @1", "p 1 @2", "p 2 @3"}));
}

TEST(Channel, APopperGoesOnAtTheInstantOfThePush) {
  Simulator simulator;
  Channel<int> channel(simulator, "channel");
  Log log;
  simulator.spawn("p", pop_items(simulator, channel, log, "p", 1, Time(1)));
  simulator.spawn("q", push_items(simulator, channel, log, 7, 1, Time(40)));
  simulator.run();
  // The pusher does not wait; the popper goes on through the queue.
  EXPECT_EQ(log, (Log{"pushed 7 @40", "p 7 @40"}));
}

TEST(Channel, PoppersAreServedInOrderOfArrival) {
  Simulator simulator;
  Channel<int> channel(simulator, "channel");
  Log log;
  simulator.spawn("a", pop_items(simulator, channel, log, "a", 1, Time(2)));
  simulator.spawn("b", pop_items(simulator, channel, log, "b", 1, Time(1)));
  simulator.schedule(Time(10), [&channel] {
    channel.try_push(100);
    channel.try_push(200);
  });
  simulator.run();
  EXPECT_EQ(log, (Log{"b 100 @10", "a 200 @10"}));
}

// The item pushed at 10 belongs to the popper that waits, although another one asks before that one has gone on.
TEST(Channel, ALatecomerCannotTakeTheItemOfAPopperThatWaits) {
  Simulator simulator;
  Channel<int> channel(simulator, "channel");
  Log log;
  std::optional<int> stolen;
  simulator.spawn("a", pop_items(simulator, channel, log, "a", 1, Time(1)));
  simulator.schedule(Time(10), [&channel, &stolen] {
    channel.try_push(100);
    stolen = channel.try_pop();
  });
  simulator.run();
  EXPECT_FALSE(stolen.has_value());
  EXPECT_EQ(log, (Log{"a 100 @10"}));
}

// Room for two; the popper takes one item at 10, 20, 30 ... A push waits for the pop that makes room for it, so the
// third push ends at 10 and the fourth at 20.
TEST(Channel, APushWaitsWhileTheChannelIsFull) {
  Simulator simulator;
  Channel<int> channel(simulator, "channel", 2);
  Log log;
  simulator.spawn("q", push_items(simulator, channel, log, 0, 4, Time(1)));
  simulator.spawn("p", pop_items(simulator, channel, log, "p", 4, Time(10)));
  simulator.run();
  EXPECT_EQ(log, (Log{"pushed 0 @1", "pushed 1 @2", "p 0 @10", "pushed 2 @10", "p 1 @20", "pushed 3 @20", "p 2 @30",
                      "p 3 @40"}));
}

TEST(Channel, WithoutWaitingAFullChannelRefusesAndAnEmptyOneHasNothing) {
  Simulator simulator;
  Channel<std::unique_ptr<int>> channel(simulator, "channel", 1);
  EXPECT_FALSE(channel.try_pop().has_value());
  auto item = std::make_unique<int>(1);
  EXPECT_TRUE(channel.try_push(item));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(channel.try_push(second));
  ASSERT_NE(second, nullptr);  // what is refused stays with its owner
  EXPECT_EQ(**channel.try_pop(), 1);
}

TEST(Channel, ACapacityOfZeroIsRefused) {
  Simulator simulator;
  EXPECT_THROW(Channel<int>(simulator, "channel", 0), InternalError);
}

// Whatever the capacity and the speeds of both sides, every item arrives, once and in order.
RC_GTEST_PROP(ChannelProperty, NothingIsLostOrReordered, ()) {
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 5);
  const auto count = *rc::gen::inRange(0, 50);
  const auto push_gap = *rc::gen::inRange(0, 4);
  const auto pop_gap = *rc::gen::inRange(0, 4);
  struct Popper {
    static Task<> run(Simulator& simulator, Channel<int>& channel, std::vector<int>& popped, int items, Time gap) {
      for (int i = 0; i < items; ++i) {
        co_await simulator.delay(gap);
        popped.push_back(co_await channel.pop());
      }
    }
  };
  Simulator simulator;
  Channel<int> channel(simulator, "channel", capacity);
  Log log;
  std::vector<int> popped;
  simulator.spawn("q", push_items(simulator, channel, log, 0, count, Time(push_gap)));
  simulator.spawn("p", Popper::run(simulator, channel, popped, count, Time(pop_gap)));
  simulator.run();
  RC_ASSERT(popped.size() == static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) RC_ASSERT(popped[static_cast<std::size_t>(i)] == i);
}

}  // namespace
}  // namespace c3sim::sim
