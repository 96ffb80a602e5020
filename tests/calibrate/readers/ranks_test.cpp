// Traces of several ranks of one run.
#include "calibrate/readers/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "calibrate/readers/profile_reading.h"
#include "tests/calibrate/readers/kineto_trace.h"

namespace c3sim::calibrate {
namespace {

using ::testing::SizeIs;

// All-gathers of 1 MiB by themselves.
Reading trace(std::optional<int> rank, const std::vector<double>& durations, const std::string& gpu = "H200") {
  Trace trace;
  trace.gpu = gpu;
  double begin = 0.0;
  for (const double duration : durations) {
    trace.all_gather(2, begin, duration, 0, 1 << 19);
    begin += 1000.0;
  }
  Profile profile = trace.read();
  profile.rank = rank;
  return reading_of(std::move(profile), "t.json");
}

// Rank 1 came last to the first and the third, rank 0 to the second, rank 2 to none.
TEST(Ranks, TheLastToComeTellsEachRun) {
  std::vector<Reading> readings{trace(0, {80, 20, 70}), trace(1, {20, 90, 30}), trace(2, {50, 50, 50})};
  tell_waits_of_ranks(readings);
  ASSERT_THAT(readings[0].measurements, SizeIs(1));
  ASSERT_THAT(readings[1].measurements, SizeIs(1));
  EXPECT_THAT(readings[2].measurements, SizeIs(0));
  EXPECT_NEAR(readings[0].measurements[0].seen[0].value, 20e-6, 1e-12);
  EXPECT_NEAR(readings[1].measurements[0].seen[0].value, 25e-6, 1e-12);  // the median of 20 and 30
  EXPECT_FALSE(readings[1].measurements[0].holds_waits);
  EXPECT_EQ(readings[1].measurements[0].group, "profiler: collective by kernels, last to come");
  ASSERT_THAT(readings[2].left_out, SizeIs(1));
  EXPECT_EQ(readings[2].left_out[0].why, "its rank waited for another, whose trace tells it");
}

TEST(Ranks, OneRankOrOthersMachinesTellNothingOfWaits) {
  for (const Reading& other : {trace(0, {20}), trace({}, {20}), trace(1, {20}, "A100"), trace(1, {20, 30})}) {
    std::vector<Reading> readings{trace(0, {80}), other};
    tell_waits_of_ranks(readings);
    for (const Reading& reading : readings) {
      ASSERT_THAT(reading.measurements, SizeIs(1));
      EXPECT_TRUE(reading.measurements[0].holds_waits);
    }
  }
}

}  // namespace
}  // namespace c3sim::calibrate
