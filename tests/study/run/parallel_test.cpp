#include "study/run/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sim/interruption.h"
#include "sim/simulator.h"

namespace c3sim::study {
namespace {

TEST(Parallel, CallsEachIndexOnce) {
  std::vector<int> calls(1000, 0);
  for_each_index(calls.size(), [&](std::size_t index) { ++calls[index]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
  for_each_index(0, [](std::size_t) { FAIL() << "there is nothing to do"; });
}

TEST(Parallel, ThreadsAreAsManyAsAskedForOrOneForEachCore) {
  EXPECT_EQ(threads_of(3), 3);
  EXPECT_GE(threads_of(0), 1);
}

TEST(Parallel, ProgressCountsUpToAll) {
  std::vector<std::size_t> seen;
  const auto progress = [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 50U);
    EXPECT_EQ(done, seen.size());
    seen.push_back(done);
  };
  for_each_index(
      50, [](std::size_t) {}, progress);
  EXPECT_EQ(seen.size(), 51U);
}

TEST(Parallel, TheFirstFailureComesOutAfterAllHaveEnded) {
  std::vector<int> calls(20, 0);
  const auto work = [&](std::size_t index) {
    ++calls[index];
    if (index == 7 || index == 13) throw std::runtime_error(std::to_string(index));
  };
  try {
    for_each_index(calls.size(), work);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(calls, std::vector<int>(20, 1));
}

struct Interrupted {};

// Whoever is told of progress may end it by an exception, which comes out, and what is no error ends it, as an
// interrupted run does: the rest is not worked off.
TEST(Parallel, ProgressAndWhatIsNoErrorEndTheWork) {
  for (const int jobs : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto enough = [](std::size_t done, std::size_t) {
      if (done == 3) throw std::runtime_error("enough");
    };
    EXPECT_THROW(for_each_index(
                     1000, [&calls](std::size_t) { ++calls; }, enough, jobs),
                 std::runtime_error);
    EXPECT_LT(calls, 1000) << jobs;
    calls = 0;
    const auto work = [&calls](std::size_t) {
      if (++calls == 3) throw Interrupted();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    EXPECT_THROW(for_each_index(1000, work, {}, jobs), Interrupted);
    EXPECT_LT(calls, 1000) << jobs;
  }
}

// Whoever waits is asked by the caller's thread, which may have nothing left to do itself: work of other threads, which
// asks whether it is still wanted, ends with it.
TEST(Parallel, AnInterruptionOfTheCallerEndsTheWorkOfOthers) {
  std::atomic<bool> is_asked = false;
  std::atomic<bool> is_late = false;
  const auto work = [&](std::size_t index) {
    if (index == 0) return;  // one thread is done at once
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < latest) {
      sim::ask_interruption();
      is_asked = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    is_late = true;
  };
  const sim::Interruption interruption([&] {
    if (is_asked) throw Interrupted();
  });
  EXPECT_THROW(for_each_index(4, work, {}, 4), Interrupted);
  EXPECT_FALSE(is_late);
}

// What a thread of an outer call is told ends the calls that it makes itself.
TEST(Parallel, AnInterruptionReachesWorkWithinWork) {
  std::atomic<int> finished = 0;
  const auto inner = [&](std::size_t) {
    for (int i = 0; i < 100; ++i) {
      sim::ask_interruption();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto outer = [&](std::size_t) {
    for (int i = 0; i < 20; ++i) for_each_index(4, inner, {}, 2);
    ++finished;
  };
  std::atomic<int> asked = 0;
  const sim::Interruption interruption([&] {
    if (++asked > 3) throw Interrupted();
  });
  EXPECT_THROW(for_each_index(3, outer, {}, 3), Interrupted);
  EXPECT_EQ(finished, 0);
}

}  // namespace
}  // namespace c3sim::study
