#include "study/sweep/sweep_store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "study/sweep/distribution.h"
#include "tests/config_fault.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

class SweepStoreTest : public testing::Test {
 protected:
  ~SweepStoreTest() override { std::filesystem::remove_all(folder_); }

  std::string fault_of_opening(const StoreKey& key) const {
    return config_fault([&] { SweepStore(folder_, key); });
  }

  const std::filesystem::path folder_ = testing::TempDir() + "sweep_store_test";
  const StoreKey key_{"d1", "mine", {{"x \"quoted\"", "x", ""}, {"time_us", "time", "us"}, {"word", "word", ""}}};
};

PointAnswer answer(std::uint64_t index, double time) {
  return {index, {static_cast<std::int64_t>(index), time, std::string("a")}, ""};
}

std::vector<PointAnswer> all_of(const SweepStore& store) {
  std::vector<PointAnswer> found;
  store.for_each([&](const PointAnswer& each) { found.push_back(each); });
  return found;
}

TEST_F(SweepStoreTest, KeepsCellsToTheLastBitAcrossOpenings) {
  const double third = 1.0 / 3.0;
  SweepStore(folder_, key_).add(std::vector{answer(7, third), PointAnswer{2, {std::int64_t{5}, {}, {}}, "cannot be"}});
  const SweepStore store(folder_, key_);
  EXPECT_EQ(store.size(), 2u);
  const std::vector<PointAnswer> found = all_of(store);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].index, 2u);  // Answers come in the order of their indices.
  EXPECT_EQ(found[0].fault, "cannot be");
  EXPECT_EQ(found[0].cells[1], Cell());
  EXPECT_THAT(found[1].cells, ElementsAre(Cell(std::int64_t{7}), Cell(third), Cell("a")));
}

TEST_F(SweepStoreTest, KeepsAnAnswerThatIsThereAndGivesIndicesInPages) {
  SweepStore store({}, key_);
  store.add(std::vector{answer(1, 1.0)});
  store.add(std::vector{answer(5, 1.0), answer(1, 2.0), answer(9, 1.0)});
  EXPECT_EQ(all_of(store).at(0).cells[1], Cell(1.0));
  EXPECT_EQ(store.size(), 3u);
  EXPECT_THAT(store.indices(0, 2), ElementsAre(1, 5));
  EXPECT_THAT(store.indices(6, 2), ElementsAre(9));
}

TEST_F(SweepStoreTest, RefusesAFileOfAnotherStudyOrOneThatIsNotOurs) {
  EXPECT_EQ(fault_of_opening(key_), "");
  StoreKey other = key_;
  other.digest = "d2";
  EXPECT_THAT(fault_of_opening(other),
              HasSubstr("holds points of the study 'mine' with another file, platform or version"));
  std::ofstream(folder_ / "points.sqlite") << std::string(5000, 'x');
  EXPECT_THAT(fault_of_opening(key_),
              AllOf(HasSubstr("is not a file of points that c3sim made, or is damaged"),
                    HasSubstr("points.sqlite .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 saved.sqlite")));
}

TEST_F(SweepStoreTest, RefusesAFolderInWhichAnotherRunIsAtWorkAndSaysWhichFileCannotBeWritten) {
  const SweepStore store(folder_, key_);
  EXPECT_THAT(fault_of_opening(key_), HasSubstr("another run is at work in this folder"));
  EXPECT_THAT([&] { SweepStore("/proc/nowhere", key_); },
              testing::ThrowsMessage<std::system_error>(HasSubstr("/proc/nowhere")));
}

// The tests below distribute points over threads.

PointAnswer squared(std::uint64_t index) {
  return {index, {static_cast<double>(index) * static_cast<double>(index)}, index % 10 == 3 ? "cannot be" : ""};
}

// Holds a study of the squares of `size` indices and its store, and counts the points that any thread asks.
struct Squares {
  explicit Squares(std::uint64_t size, int jobs = 2) {
    distribution.size = size;
    distribution.jobs = jobs;
    answer_by(squared);
  }
  void answer_by(std::function<PointAnswer(std::uint64_t)> answer) {
    distribution.make_answerer = [this, answer = std::move(answer)] {
      return [this, answer](std::uint64_t index) {
        ++asked;
        return answer(index);
      };
    };
  }
  bool run() { return study::run(distribution, store); }
  void expect_all() const {
    std::uint64_t next = 0;
    for (const PointAnswer& answer : all_of(store)) {
      EXPECT_EQ(answer.index, next);
      EXPECT_EQ(answer.cells, squared(next).cells);
      EXPECT_EQ(answer.fault, squared(next).fault);
      ++next;
    }
    EXPECT_EQ(next, distribution.size);
  }

  SweepStore store{{}, {"d", "study", {{"square", "square", ""}}}};
  Distribution distribution{};
  std::atomic<int> asked{0};
};

TEST(Distribution, EveryPointIsAnsweredOnceByAnyNumberOfThreads) {
  for (const int jobs : {1, 2, 7}) {
    Squares squares(1000, jobs);
    EXPECT_TRUE(squares.run());
    EXPECT_EQ(squares.asked, 1000);
    squares.expect_all();
  }
}

TEST(Distribution, WhatTheStoreHasIsNotAskedAgain) {
  Squares squares(1000);
  for (std::uint64_t index = 0; index < 1000; index += 3) squares.store.add(std::vector{squared(index)});
  squares.answer_by([](std::uint64_t index) {
    EXPECT_NE(index % 3, 0u);
    return squared(index);
  });
  EXPECT_TRUE(squares.run());
  EXPECT_EQ(squares.asked, 666);  // The store had 334 of 1000 points.
  squares.expect_all();
}

TEST(Distribution, WhatWasFinishedBeforeAnInterruptionIsKept) {
  Squares squares(1'000'000'000);
  squares.distribution.interrupted = [&squares] { return squares.asked > 5000; };
  EXPECT_FALSE(squares.run());
  EXPECT_EQ(squares.store.size(), static_cast<std::uint64_t>(squares.asked));
}

TEST(Distribution, AnErrorOfAnAnswererComesOutAndWhatWasFinishedStays) {
  Squares squares(1'000'000);
  squares.answer_by([](std::uint64_t index) {
    if (index == 2000) throw std::logic_error("broken at 2000");
    return squared(index);
  });
  EXPECT_THROW(squares.run(), std::logic_error);
  EXPECT_GT(squares.store.size(), 0u);
  EXPECT_LT(squares.store.size(), 1'000'000u);
}

TEST(Distribution, ProgressReachesTheEnd) {
  Squares squares(100);
  squares.store.add(std::vector{squared(0)});
  std::size_t last = 0;  // Progress begins with the points that the store has.
  squares.distribution.progress = [&last](std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 100u);
    EXPECT_GT(done, last);
    last = done;
  };
  EXPECT_TRUE(squares.run());
  EXPECT_EQ(last, 100u);
}

RC_GTEST_PROP(DistributionProperty, ShardsAnswerEachPointOnce, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(0, 300);
  const auto of = *rc::gen::inRange<std::uint64_t>(1, 12);
  Squares merged(size);
  for (std::uint64_t number = 1; number <= of; ++number) {
    Squares part(size);
    part.distribution.shard = {number, of};
    RC_ASSERT(part.run());
    RC_ASSERT(part.store.size() == part.distribution.shard.share_of(size));
    merged.store.add(all_of(part.store));
  }
  RC_ASSERT(merged.store.size() == size);
}

}  // namespace
}  // namespace c3sim::study
