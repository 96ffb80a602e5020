#include "sim/task.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/simulator.h"

namespace c3sim::sim {
namespace {

// Counts its living copies: a frame's locals are destroyed with the frame.
struct Alive {
  int& count;
  explicit Alive(int& counter) : count(counter) { ++count; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --count; }
};

Task<int> add_later(Simulator& simulator, int a, int b) {
  co_await simulator.delay(Time(10));
  co_return a + b;
}

Task<int> add_now(int a, int b) { co_return a + b; }

TEST(Task, AResultComesOutOfTheAwaitAndIsMovedWhereItCannotBeCopied) {
  struct Caller {
    static Task<std::unique_ptr<int>> make(Simulator& simulator) {
      co_await simulator.delay(Time(1));
      co_return std::make_unique<int>(5);
    }
    static Task<> run(Simulator& simulator, std::vector<int>& results) {
      results.push_back(co_await add_now(1, 2));
      results.push_back(co_await add_later(simulator, 3, 4));
      const std::unique_ptr<int> made = co_await make(simulator);
      results.push_back(*made);
    }
  };
  Simulator simulator;
  std::vector<int> results;
  simulator.spawn("caller", Caller::run(simulator, results));
  simulator.run();
  EXPECT_EQ(results, (std::vector<int>{3, 7, 5}));
  EXPECT_EQ(simulator.now(), Time(11));
}

TEST(Task, ATaskDoesNotStartBeforeItIsAwaited) {
  struct Caller {
    static Task<> note(std::vector<std::string>& log) {
      log.emplace_back("task");
      co_return;
    }
    static Task<> run(Simulator& simulator, std::vector<std::string>& log) {
      Task<> later = note(log);
      co_await simulator.delay(Time(1));
      log.emplace_back("caller");
      co_await std::move(later);
    }
  };
  Simulator simulator;
  std::vector<std::string> log;
  simulator.spawn("caller", Caller::run(simulator, log));
  simulator.run();
  EXPECT_EQ(log, (std::vector<std::string>{"caller", "task"}));
}

struct Thrower {
  static Task<int> now() {
    throw std::runtime_error("at once");
    co_return 0;
  }
  static Task<int> later(Simulator& simulator) {
    co_await simulator.delay(Time(1));
    throw std::runtime_error("later");
  }
  static Task<> catch_both(Simulator& simulator, std::vector<std::string>& caught) {
    try {
      co_await now();
    } catch (const std::runtime_error& error) {
      caught.emplace_back(error.what());
    }
    try {
      co_await later(simulator);
    } catch (const std::runtime_error& error) {
      caught.emplace_back(error.what());
    }
  }
};

TEST(Task, AnExceptionComesOutOfTheAwait) {
  Simulator simulator;
  std::vector<std::string> caught;
  simulator.spawn("catcher", Thrower::catch_both(simulator, caught));
  simulator.run();
  EXPECT_EQ(caught, (std::vector<std::string>{"at once", "later"}));
}

// A task that ends at once must not leave a stack frame behind: a million of them would overflow 8 MiB.
TEST(Task, ManyTasksDoNotGrowTheStackWhetherTheyEndAtOnceOrLater) {
  const auto add_up = [](Simulator& on, std::int64_t& total) -> Task<> {
    for (int i = 0; i < 1'000'000; ++i) total += co_await add_now(1, 1);
    for (int i = 0; i < 100'000; ++i) total += co_await add_later(on, 1, 1);
  };
  Simulator simulator;
  std::int64_t sum = 0;
  simulator.spawn("caller", add_up(simulator, sum));
  simulator.run();
  EXPECT_EQ(sum, 2'200'000);
}

TEST(Task, TasksMayAwaitEachOtherDeeply) {
  struct Nest {
    static Task<int> depth(Simulator& simulator, int left) {
      if (left > 0) co_return 1 + co_await depth(simulator, left - 1);
      co_await simulator.delay(Time(1));
      co_return 0;
    }
    static Task<> run(Simulator& simulator, int& result) { result = co_await depth(simulator, 1000); }
  };
  Simulator simulator;
  int result = 0;
  simulator.spawn("caller", Nest::run(simulator, result));
  simulator.run();
  EXPECT_EQ(result, 1000);
}

struct Holder {
  static Task<> hold(Simulator& simulator, int& alive) {
    const Alive local(alive);
    co_await simulator.delay(Time(1'000'000));
  }
  static Task<> hold_nested(Simulator& simulator, int& alive) {
    const Alive local(alive);
    co_await hold(simulator, alive);
  }
  static Task<> fail(Simulator& simulator) {
    co_await simulator.delay(Time(1));
    throw std::runtime_error("stop");
  }
};

TEST(Task, DestroyingAnUnfinishedProcessDestroysTheFramesOfItsTasks) {
  int alive = 0;
  {
    Simulator simulator;
    simulator.spawn("holder", Holder::hold_nested(simulator, alive));
    simulator.spawn("failing", Holder::fail(simulator));
    EXPECT_THROW(simulator.run(), std::runtime_error);
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Task, DestroyingATaskThatNeverStartedFreesItsFrame) {
  Simulator simulator;
  int alive = 0;
  std::vector<Task<>> tasks;
  tasks.push_back(Holder::hold(simulator, alive));
  EXPECT_EQ(simulator.frame_pool().live_frames(), 1u);
  tasks.clear();
  EXPECT_EQ(simulator.frame_pool().live_frames(), 0u);
  EXPECT_EQ(alive, 0);
}

// AddressSanitizer's build shows that nothing is used after its end here.
TEST(Task, ATaskMayOutliveItsSimulator) {
  int alive = 0;
  Task<> survivor;
  {
    Simulator simulator;
    survivor = Holder::hold(simulator, alive);
  }
  survivor = Task<>();
  EXPECT_EQ(alive, 0);
}

TEST(Task, AwaitingATaskTwiceIsRefused) {
  const auto await_twice = [](Simulator&) -> Task<> {
    Task<int> task = add_now(1, 2);
    co_await std::move(task);
    co_await std::move(task);  // NOLINT(bugprone-use-after-move): the point of the test
  };
  Simulator simulator;
  simulator.spawn("caller", await_twice(simulator));
  EXPECT_THROW(simulator.run(), InternalError);
}

// An Engine has a simulator and an Unrelated has none, which decides where the frames of their coroutines come from.
// Tests put tasks into vectors, because clang gives no frame of its own to a task whose end it sees.
class Engine {
 public:
  explicit Engine(Simulator& simulator) : simulator_(simulator) {}
  Simulator& simulator() const { return simulator_; }
  Task<> copy(int) { co_await simulator_.delay(Time(1)); }

 private:
  Simulator& simulator_;
};

class Unrelated {
 public:
  Task<> with(Simulator& simulator) { co_await simulator.delay(Time(1)); }
  Task<> alone(int, int) { co_return; }
};

TEST(TaskFrames, FramesComeFromTheSimulatorAmongTheFirstTwoParameters) {
  Simulator simulator;
  Engine engine(simulator);
  Unrelated unrelated;
  struct Free {
    static Task<> simulator_first(Simulator&, int) { co_return; }
    static Task<> simulator_second(int, Simulator&) { co_return; }
    static Task<> model_first(const Engine&) { co_return; }
  };
  std::vector<Task<>> tasks;
  tasks.push_back(Free::simulator_first(simulator, 1));
  tasks.push_back(Free::simulator_second(1, simulator));
  tasks.push_back(Free::model_first(engine));
  tasks.push_back(engine.copy(1));             // The object has simulator().
  tasks.push_back(unrelated.with(simulator));  // The object is the first parameter.
  EXPECT_EQ(simulator.frame_pool().live_frames(), 5u);
}

TEST(TaskFrames, FramesOfCoroutinesThatKnowNoOrAnotherSimulatorAreNotItsOwn) {
  Simulator simulator;
  Simulator other;
  Unrelated unrelated;
  std::vector<Task<>> tasks;
  tasks.push_back(unrelated.alone(1, 2));
  std::vector<Task<int>> more;
  more.push_back(add_now(1, 2));
  more.push_back(add_later(other, 1, 2));
  EXPECT_EQ(simulator.frame_pool().live_frames(), 0u);
  EXPECT_EQ(other.frame_pool().live_frames(), 1u);
}

TEST(FramePool, LiveFramesAreCountedAndAReleasedOneServesTheNextOfItsSize) {
  FramePool pool;
  void* const a = pool.allocate(200);
  void* const b = pool.allocate(1000);
  void* const alone = FramePool::allocate_alone(100);
  EXPECT_EQ(pool.live_frames(), 2u);
  FramePool::release(a);
  EXPECT_EQ(pool.live_frames(), 1u);
  EXPECT_EQ(pool.allocate(200), a);
  for (void* const frame : {a, b, alone}) FramePool::release(frame);
  EXPECT_EQ(pool.live_frames(), 0u);
}

// 4000 frames of 1 to 4000 bytes fill many chunks, and those above 2 KiB stand alone. All keep what is written to them.
TEST(FramePool, FramesOfAllSizesAreAlignedAndDoNotOverlap) {
  FramePool pool;
  std::vector<unsigned char*> frames;
  for (std::size_t bytes = 1; bytes <= 4000; ++bytes) {
    auto* const frame = static_cast<unsigned char*>(pool.allocate(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frame) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
    std::memset(frame, static_cast<int>(bytes % 251), bytes);
    frames.push_back(frame);
  }
  for (std::size_t bytes = 1; bytes <= 4000; ++bytes) {
    const unsigned char* const frame = frames[bytes - 1];
    EXPECT_EQ(frame[0], bytes % 251);
    EXPECT_EQ(frame[bytes - 1], bytes % 251);
    FramePool::release(frames[bytes - 1]);
  }
  EXPECT_EQ(pool.live_frames(), 0u);
}

// AddressSanitizer's build shows that nothing is leaked or used after its end here.
TEST(FramePool, FramesMayBeReleasedAfterThePoolIsGone) {
  auto pool = std::make_unique<FramePool>();
  void* const a = pool->allocate(100);
  void* const b = pool->allocate(100);
  pool.reset();
  std::memset(a, 1, 100);
  FramePool::release(a);
  std::memset(b, 1, 100);
  FramePool::release(b);
}

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

// 1000 events are spread over all of time: no event is lost near its end.
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

// Whatever is pushed, events run in the order of a stable sort by time.
RC_GTEST_PROP(EventQueueProperty, TheOrderIsThatOfAStableSortByTime, ()) {
  // There are few distinct times, so that many are equal, and up to 2000 events, so that they fill many slots.
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
