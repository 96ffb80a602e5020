#include "study/sweep/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sim/config/config_error.h"
#include "study/sweep/rank_messages.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;

const StoreKey key{"d", "study", {{"square", "square", ""}}};

PointAnswer squared(std::uint64_t index) {
  return {index, {static_cast<double>(index) * static_cast<double>(index)}, index % 10 == 3 ? "cannot be" : ""};
}

Distribution squares(std::uint64_t size, int jobs) {
  return {.make_answerer = [] { return squared; }, .size = size, .digest = "d", .jobs = jobs};
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
  std::size_t last = 1;
  distribution.progress = [&last](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 100u);
    EXPECT_GT(done, last);
    last = done;
  };
  EXPECT_TRUE(run(distribution, store));
  EXPECT_EQ(last, 100u);
}

// Ranks as threads of this process.
struct Post {
  std::mutex mutex;
  std::vector<std::deque<Ranks::Message>> boxes;
};
class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Post& post, int rank) : post_(post), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(post_.boxes.size()); }
  void send(int to, const std::string& bytes) override {
    const std::lock_guard lock(post_.mutex);
    post_.boxes[static_cast<std::size_t>(to)].push_back({rank_, bytes});
  }
  std::optional<Message> receive() override {
    const std::lock_guard lock(post_.mutex);
    auto& box = post_.boxes[static_cast<std::size_t>(rank_)];
    if (box.empty()) return {};
    Message message = box.front();
    box.pop_front();
    return message;
  }
  void leave(bool everyone) override { left_with_everyone = everyone; }
  std::optional<bool> left_with_everyone;

 private:
  Post& post_;
  int rank_;
};

TEST(Distribution, RanksShareThePoints) {
  Post post;
  post.boxes.resize(4);  // one of them will hardly have a point
  std::deque<ThreadRanks> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(post, rank);
  SweepStore store({}, key);
  std::vector<std::jthread> others;
  for (std::size_t rank = 1; rank < 4; ++rank) {
    others.emplace_back([&ranks, rank] { serve(squares(3000, 1), ranks[rank]); });
  }
  EXPECT_TRUE(run(squares(3000, 1), store, &ranks[0]));
  expect_all(store, 3000);
  EXPECT_EQ(ranks[0].left_with_everyone, true);
}

TEST(Distribution, ARankThatDiesCostsNothingButTime) {
  Post post;
  post.boxes.resize(3);
  ThreadRanks keeper(post, 0);
  ThreadRanks living(post, 1);
  ThreadRanks dying(post, 2);
  // It asks for work, gets some, and is never heard of again.
  dying.send(0, packed(Report{.digest = "d"}));
  SweepStore store({}, key);
  std::jthread other([&living] { serve(squares(3000, 1), living); });
  Distribution distribution = squares(3000, 1);
  distribution.patience = std::chrono::milliseconds(50);
  EXPECT_TRUE(run(distribution, store, &keeper));
  expect_all(store, 3000);
  EXPECT_EQ(keeper.left_with_everyone, false);
  EXPECT_TRUE(dying.receive().has_value());
}

TEST(Distribution, ARankWhoseKeeperDiesEndsWithAnError) {
  Post post;
  post.boxes.resize(2);
  ThreadRanks keeper(post, 0);
  ThreadRanks other(post, 1);
  // It deals two points and is never heard of again.
  keeper.send(1, packed(Orders{{0, 1}}));
  Distribution distribution = squares(3000, 1);
  distribution.patience = std::chrono::milliseconds(40);
  try {
    serve(distribution, other);
    FAIL() << "nobody missed rank 0";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1: rank 0, which keeps the results, has not answered for 0.04 s: it is "
                                        "dead or stopped."));
    EXPECT_THAT(error.what(), HasSubstr("--resume goes on"));
  }
}

TEST(Distribution, AKeeperThatIsAskedSaysThatItIsThere) {
  Post post;
  post.boxes.resize(2);
  ThreadRanks keeper(post, 0);
  ThreadRanks other(post, 1);
  other.send(0, packed(Report{.asks_for_life = true}));
  SweepStore store({}, key);
  Distribution distribution = squares(3000, 1);
  distribution.patience = std::chrono::milliseconds(50);
  EXPECT_TRUE(run(distribution, store, &keeper));
  const std::optional<Ranks::Message> answer = other.receive();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(unpacked_orders(answer->bytes).points.empty());
  EXPECT_FALSE(unpacked_orders(answer->bytes).leave);
}

// What the keeper says of a rank whose first word is this.
std::string told_of(const Report& report) {
  Post post;
  post.boxes.resize(2);
  ThreadRanks keeper(post, 0);
  ThreadRanks other(post, 1);
  other.send(0, packed(report));
  SweepStore store({}, key);
  Distribution distribution = squares(1'000'000, 1);
  distribution.patience = std::chrono::milliseconds(50);
  try {
    run(distribution, store, &keeper);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "no fault was told";
}

TEST(Distribution, ARankWithAnotherStudyIsRefused) {
  EXPECT_THAT(told_of({.digest = "other"}), HasSubstr("rank 1 has another study, platform or version of c3sim"));
}

TEST(Distribution, AFaultOfARankIsToldByTheKeeper) {
  EXPECT_THAT(told_of({.failure = "study.yaml: no such file", .users_fault = true}),
              HasSubstr("rank 1: study.yaml: no such file"));
}

TEST(RankMessages, NumbersArriveToTheLastBit) {
  const Report sent{
      .answers = {{std::uint64_t{1} << 60, {1.0 / 3.0, std::int64_t{-5}, std::string("a"), true, Cell()}, "why", true}},
      .seconds = 0.5};
  const Report received = unpacked_report(packed(sent));
  ASSERT_EQ(received.answers.size(), 1u);
  EXPECT_EQ(received.answers[0].index, sent.answers[0].index);
  EXPECT_EQ(received.answers[0].cells, sent.answers[0].cells);
  EXPECT_EQ(received.answers[0].fault, "why");
  EXPECT_TRUE(received.answers[0].failed);
  EXPECT_EQ(unpacked_orders(packed(Orders{{3, 4}})).points, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_TRUE(unpacked_orders(packed(Orders{.leave = true})).leave);
}

}  // namespace
}  // namespace c3sim::study
