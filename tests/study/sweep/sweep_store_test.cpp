#include "study/sweep/sweep_store.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/config/config_error.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

class SweepStoreTest : public testing::Test {
 protected:
  ~SweepStoreTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ = testing::TempDir() + "sweep_store_test";
  const StoreKey key_{"d1", "mine", {{"x \"quoted\"", "x", ""}, {"time_us", "time", "us"}, {"word", "word", ""}}};
};

PointAnswer answer(std::uint64_t index, double time) {
  return {index, {static_cast<std::int64_t>(index), time, std::string("a")}, ""};
}

TEST_F(SweepStoreTest, KeepsCellsToTheLastBitAcrossOpenings) {
  const double third = 1.0 / 3.0;
  {
    SweepStore store(folder_, key_);
    store.add(std::vector{answer(7, third), PointAnswer{2, {std::int64_t{5}, {}, {}}, "cannot be"}});
  }
  const SweepStore store(folder_, key_);
  EXPECT_EQ(store.size(), 2u);
  std::vector<PointAnswer> found;
  store.for_each([&](const PointAnswer& each) { found.push_back(each); });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].index, 2u);  // in the order of indices
  EXPECT_EQ(found[0].fault, "cannot be");
  EXPECT_EQ(found[0].cells[1], Cell());
  EXPECT_THAT(found[1].cells, ElementsAre(Cell(std::int64_t{7}), Cell(third), Cell("a")));
}

TEST_F(SweepStoreTest, AnAnswerThatIsThereStays) {
  SweepStore store(folder_, key_);
  store.add(std::vector{answer(1, 1.0)});
  store.add(std::vector{answer(1, 2.0)});
  store.for_each([](const PointAnswer& each) { EXPECT_EQ(each.cells[1], Cell(1.0)); });
  EXPECT_EQ(store.size(), 1u);
}

TEST_F(SweepStoreTest, GivesIndicesInPages) {
  SweepStore store({}, key_);
  store.add(std::vector{answer(5, 1.0), answer(1, 1.0), answer(9, 1.0)});
  EXPECT_THAT(store.indices(0, 2), ElementsAre(1, 5));
  EXPECT_THAT(store.indices(6, 2), ElementsAre(9));
}

TEST_F(SweepStoreTest, RefusesAFileOfAnotherStudy) {
  { SweepStore store(folder_, key_); }
  StoreKey other = key_;
  other.digest = "d2";
  try {
    SweepStore store(folder_, other);
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds points of the study 'mine' with another file, platform or version"));
  }
}

TEST_F(SweepStoreTest, RefusesAFileThatIsNotOurs) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "points.sqlite") << std::string(5000, 'x');
  try {
    const SweepStore store(folder_, key_);
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is not a file of points that c3sim made, or is damaged"));
    EXPECT_THAT(error.what(), HasSubstr("points.sqlite .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 saved.sqlite"));
  }
}

TEST_F(SweepStoreTest, PointsThatFailedAreToldAndAskedAgainByWhoOpensItNext) {
  {
    SweepStore store(folder_, key_);
    const std::vector failed{PointAnswer{3, {std::int64_t{3}, {}, {}}, "cannot read", true}};
    store.add(failed);
    store.add(failed);  // by another process, too
    store.add(std::vector{answer(1, 1.0), answer(4, 1.0)});
    EXPECT_EQ(store.size(), 2u);
    EXPECT_EQ(store.failures(), 1u);
    std::vector<std::uint64_t> indices;
    store.for_each([&](const PointAnswer& each) {
      indices.push_back(each.index);
      EXPECT_EQ(each.failed, each.index == 3);
    });
    EXPECT_THAT(indices, ElementsAre(1, 3, 4));
  }
  const SweepStore store(folder_, key_);
  EXPECT_EQ(store.failures(), 0u);
  EXPECT_THAT(store.indices(0, 9), ElementsAre(1, 4));
}

TEST_F(SweepStoreTest, APointThatFailedInOneProcessHasTheAnswerOfAnother) {
  SweepStore store({}, key_);
  store.add(std::vector{PointAnswer{1, {std::int64_t{1}, {}, {}}, "cannot read", true}});
  store.add(std::vector{answer(1, 2.0)});
  EXPECT_EQ(store.failures(), 0u);
  int found = 0;
  store.for_each([&](const PointAnswer& each) {
    ++found;
    EXPECT_FALSE(each.failed);
  });
  EXPECT_EQ(found, 1);
}

TEST_F(SweepStoreTest, RefusesAFolderInWhichAnotherRunIsAtWork) {
  const SweepStore store(folder_, key_);
  try {
    const SweepStore second(folder_, key_);
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another run is at work in this folder"));
  }
}

TEST_F(SweepStoreTest, SaysWhichFileCannotBeWritten) {
  try {
    const SweepStore store("/proc/nowhere", key_);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/nowhere"));
  }
}

}  // namespace
}  // namespace c3sim::study
