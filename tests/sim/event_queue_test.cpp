#include "sim/event_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/check.h"

namespace c3sim::sim {
namespace {

// Notes the number of each event as it runs.
struct Recorder {
  std::vector<int> order;
  EventAction action(int number) {
    return [this, number] { order.push_back(number); };
  }
  void run_all(EventQueue& queue) {
    while (!queue.empty()) queue.pop().action();
  }
};

// 1000 events spread over all of time: none gets lost beyond its end.
TEST(EventQueue, EventsMayLieAnywhereUpToTheEndOfTime) {
  EventQueue queue;
  Recorder recorder;
  for (int i = 0; i < 1000; ++i)
    queue.push(Time::max() - Time(std::int64_t{9'000'000'000'000'000} * i), recorder.action(i));
  queue.push(Time(1), recorder.action(1000));
  recorder.run_all(queue);
  ASSERT_EQ(recorder.order.size(), 1001u);
  EXPECT_TRUE(std::is_sorted(recorder.order.rbegin(), recorder.order.rend()));
}

TEST(EventQueue, AQueueThatHasRunEmptyIsAsGoodAsNew) {
  EventQueue queue;
  for (int round = 0; round < 3; ++round) {
    Recorder recorder;
    for (int i = 0; i < 1000; ++i) queue.push(Time(round * 10'000 + 2000 - i), recorder.action(i));
    recorder.run_all(queue);
    ASSERT_EQ(recorder.order.size(), 1000u);
    EXPECT_TRUE(std::is_sorted(recorder.order.rbegin(), recorder.order.rend()));
    EXPECT_EQ(queue.size(), 0u);
  }
}

TEST(EventQueue, AnEventBeforeTheLastOnePoppedAndPoppingFromAnEmptyQueueAreRefused) {
  EventQueue queue;
  queue.push(Time(7), {});
  queue.pop();
  EXPECT_THROW(queue.push(Time(6), {}), InternalError);
  EXPECT_THROW(queue.pop(), InternalError);
}

// Whatever is pushed, the order is that of a stable sort by time.
RC_GTEST_PROP(EventQueueProperty, TheOrderIsThatOfAStableSortByTime, ()) {
  // Few distinct times, so that there are many equals; up to 2000 events, so that they fill many slots.
  const auto times = *rc::gen::resize(2000, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200)));
  EventQueue queue;
  Recorder recorder;
  std::vector<std::pair<int, int>> expected;
  for (int i = 0; i < static_cast<int>(times.size()); ++i) {
    queue.push(Time(times[static_cast<std::size_t>(i)]), recorder.action(i));
    expected.emplace_back(times[static_cast<std::size_t>(i)], i);
  }
  recorder.run_all(queue);
  std::stable_sort(expected.begin(), expected.end(), [](auto a, auto b) { return a.first < b.first; });
  RC_ASSERT(recorder.order.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) RC_ASSERT(recorder.order[i] == expected[i].second);
}

// Pops and pushes in any alternation agree with a list that is searched from its beginning.
RC_GTEST_PROP(EventQueueProperty, InterleavedPushesAndPopsKeepTheOrder, ()) {
  struct Pending {
    Time at;
    int number;
  };
  EventQueue queue;
  Recorder recorder;
  std::vector<Pending> model;
  Time now{0};
  // A negative step pops, any other pushes that many picoseconds after the last pop; spans differ by powers of ten.
  const auto steps = *rc::gen::resize(
      1000, rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(
                rc::gen::just<std::int64_t>(-1), rc::gen::inRange<std::int64_t>(0, 4),
                rc::gen::inRange<std::int64_t>(0, 100), rc::gen::inRange<std::int64_t>(0, 1'000'000'000))));
  int number = 0;
  for (const std::int64_t step : steps) {
    if (step >= 0) {
      queue.push(now + Time(step), recorder.action(number));
      model.push_back({now + Time(step), number});
      ++number;
    } else if (!model.empty()) {
      // min_element returns the first of equals, the one that was pushed first.
      const auto next = std::min_element(model.begin(), model.end(), [](auto& a, auto& b) { return a.at < b.at; });
      RC_ASSERT(queue.next_time() == next->at);
      Event event = queue.pop();
      event.action();
      RC_ASSERT(event.at == next->at);
      RC_ASSERT(recorder.order.back() == next->number);
      now = event.at;
      model.erase(next);
    }
    RC_ASSERT(queue.size() == model.size());
  }
}

TEST(EventAction, ADefaultActionDoesNothingAndACopyDoesTheSame) {
  EventAction()();
  int calls = 0;
  const EventAction action = [&calls] { ++calls; };
  EventAction copy = action;
  copy();
  copy();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace c3sim::sim
