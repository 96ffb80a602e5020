#include "study/sweep/distribution.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <stdexcept>

namespace c3sim::study {
namespace {

const StoreKey key{"d", "study", {{"square", "square", ""}}};

PointAnswer squared(std::uint64_t index) {
  return {index, {static_cast<double>(index) * static_cast<double>(index)}, index % 10 == 3 ? "cannot be" : ""};
}

Distribution squares(std::uint64_t size, int jobs) {
  return {.make_answerer = [] { return squared; }, .size = size, .jobs = jobs};
}

void expect_all(const SweepStore& store, std::uint64_t size) {
  std::uint64_t next = 0;
  store.for_each([&](const PointAnswer& answer) {
    EXPECT_EQ(answer.index, next);
    EXPECT_EQ(answer.cells, squared(next).cells);
    EXPECT_EQ(answer.fault, squared(next).fault);
    ++next;
  });
  EXPECT_EQ(next, size);
}

TEST(Distribution, EveryPointIsAnsweredOnceByAnyNumberOfThreads) {
  for (const int jobs : {1, 2, 7}) {
    SweepStore store({}, key);
    std::atomic<int> asked{0};
    Distribution distribution = squares(1000, jobs);
    distribution.make_answerer = [&asked] {
      return [&asked](std::uint64_t index) {
        ++asked;
        return squared(index);
      };
    };
    EXPECT_TRUE(run(distribution, store));
    EXPECT_EQ(asked, 1000);
    expect_all(store, 1000);
  }
}

TEST(Distribution, WhatTheStoreHasIsNotAskedAgain) {
  SweepStore store({}, key);
  std::vector<PointAnswer> before;
  for (std::uint64_t index = 0; index < 1000; index += 3) before.push_back(squared(index));
  store.add(before);
  std::atomic<int> asked{0};
  Distribution distribution = squares(1000, 2);
  distribution.make_answerer = [&asked] {
    return [&asked](std::uint64_t index) {
      EXPECT_NE(index % 3, 0u);
      ++asked;
      return squared(index);
    };
  };
  EXPECT_TRUE(run(distribution, store));
  EXPECT_EQ(asked, 666);  // of 1000 all but 334
  expect_all(store, 1000);
}

// Points that fail once have an answer in the next run, which asks for nothing else.
TEST(Distribution, AFailedPointIsAskedOnceByEachRun) {
  SweepStore store({}, key);
  std::atomic<int> asked{0};
  Distribution distribution = squares(100, 2);
  distribution.make_answerer = [&asked] {
    return [&asked](std::uint64_t index) {
      PointAnswer answer = squared(index);
      answer.failed = asked++ < 1000 && index % 7 == 0;
      return answer;
    };
  };
  EXPECT_TRUE(run(distribution, store));
  EXPECT_EQ(asked, 100);
  EXPECT_EQ(store.size(), 85u);  // 0, 7 ... 98 have failed
  EXPECT_EQ(store.failures(), 15u);
  asked = 1000;
  EXPECT_TRUE(run(distribution, store));
  EXPECT_EQ(asked, 1015);
  EXPECT_EQ(store.failures(), 0u);
  expect_all(store, 100);
}

TEST(Distribution, WhatWasFinishedBeforeAnInterruptionIsKept) {
  SweepStore store({}, key);
  std::atomic<int> asked{0};
  Distribution distribution = squares(1'000'000'000, 2);
  distribution.make_answerer = [&asked] {
    return [&asked](std::uint64_t index) {
      ++asked;
      return squared(index);
    };
  };
  distribution.interrupted = [&asked] { return asked > 5000; };
  EXPECT_FALSE(run(distribution, store));
  EXPECT_EQ(store.size(), static_cast<std::uint64_t>(asked));
}

TEST(Distribution, AnErrorOfAnAnswererComesOutAndWhatWasFinishedStays) {
  SweepStore store({}, key);
  Distribution distribution = squares(1'000'000, 2);
  distribution.make_answerer = [] {
    return [](std::uint64_t index) {
      if (index == 2000) throw std::logic_error("broken at 2000");
      return squared(index);
    };
  };
  EXPECT_THROW(run(distribution, store), std::logic_error);
  EXPECT_GT(store.size(), 0u);
  EXPECT_LT(store.size(), 1'000'000u);
}

TEST(Distribution, ProgressReachesTheEnd) {
  SweepStore store({}, key);
  store.add(std::vector{squared(0)});
  Distribution distribution = squares(100, 2);
  std::size_t last = 0;  // it begins with what the store has
  distribution.progress = [&last](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 100u);
    EXPECT_GT(done, last);
    last = done;
  };
  EXPECT_TRUE(run(distribution, store));
  EXPECT_EQ(last, 100u);
}

RC_GTEST_PROP(DistributionProperty, ShardsAnswerEachPointOnce, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(0, 300);
  const auto of = *rc::gen::inRange<std::uint64_t>(1, 12);
  SweepStore merged({}, key);
  for (std::uint64_t number = 1; number <= of; ++number) {
    SweepStore part({}, key);
    Distribution distribution = squares(size, 2);
    distribution.shard = {number, of};
    RC_ASSERT(run(distribution, part));
    RC_ASSERT(part.size() == distribution.shard.share_of(size));
    part.for_each([&](const PointAnswer& answer) { merged.add(std::vector{answer}); });
  }
  RC_ASSERT(merged.size() == size);
}

}  // namespace
}  // namespace c3sim::study
