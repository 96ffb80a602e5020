#include "sim/task.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/frame_pool.h"
#include "sim/simulator.h"

namespace c3sim::sim {
namespace {

// Counts its living copies: the locals of a frame are destroyed with the frame.
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
  struct Caller {
    static Task<> run(Simulator& simulator, std::int64_t& sum) {
      for (int i = 0; i < 1'000'000; ++i) sum += co_await add_now(1, 1);
      for (int i = 0; i < 100'000; ++i) sum += co_await add_later(simulator, 1, 1);
    }
  };
  Simulator simulator;
  std::int64_t sum = 0;
  simulator.spawn("caller", Caller::run(simulator, sum));
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
  struct Caller {
    static Task<> run(Simulator&) {
      Task<int> task = add_now(1, 2);
      co_await std::move(task);
      co_await std::move(task);  // NOLINT(bugprone-use-after-move): the point of the test
    }
  };
  Simulator simulator;
  simulator.spawn("caller", Caller::run(simulator));
  EXPECT_THROW(simulator.run(), InternalError);
}

// Where the frame of each kind of coroutine comes from. Tasks are put into vectors, as clang gives a task that it can
// see to the end of no frame of its own.
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
  tasks.push_back(engine.copy(1));             // its object has simulator()
  tasks.push_back(unrelated.with(simulator));  // its object is the first parameter
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

}  // namespace
}  // namespace c3sim::sim
