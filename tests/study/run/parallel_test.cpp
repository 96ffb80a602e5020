#include "study/run/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

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
  for_each_index(
      50, [](std::size_t) {},
      [&](std::size_t done, std::size_t of) {
        EXPECT_EQ(of, 50U);
        seen.push_back(done);
      });
  ASSERT_EQ(seen.size(), 50U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
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

// Whoever is told of progress may end it by an exception, which comes out, and not every index has had its turn.
TEST(Parallel, ProgressMayEndTheWork) {
  for (const int jobs : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto enough = [](std::size_t done, std::size_t) {
      if (done == 3) throw std::runtime_error("enough");
    };
    EXPECT_THROW(for_each_index(
                     1000, [&calls](std::size_t) { ++calls; }, enough, jobs),
                 std::runtime_error);
    EXPECT_LT(calls, 1000) << jobs;
  }
}

// As an interrupted run does: the rest is not worked off.
TEST(Parallel, WhatIsNoErrorEndsTheWork) {
  struct Interrupted {};
  for (const int jobs : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto work = [&calls](std::size_t) {
      if (++calls == 3) throw Interrupted();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    EXPECT_THROW(for_each_index(1000, work, {}, jobs), Interrupted);
    EXPECT_LT(calls, 1000) << jobs;
  }
}

}  // namespace
}  // namespace c3sim::study
