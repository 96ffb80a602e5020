// Traces of several ranks of one run.
#include "calibrate/readers/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace c3sim::calibrate {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Reading trace(const std::string& name, std::optional<int> rank, double seconds, const std::string& gpu = "H200") {
  Reading reading;
  reading.name = name;
  reading.gpu = gpu;
  reading.rank = rank;
  Measurement one;
  one.file = name;
  one.line = 7;
  one.holds_waits = true;
  models::CollectiveSpec spec;
  spec.bytes = sim::Bytes(1e6);
  one.trial = study::CollectiveTrial{spec};
  one.seen = {{.figure = study::Figure::kernel_time, .value = seconds}};
  reading.measurements = {one};
  return reading;
}

// Rank 1 came last: it waited for nobody.
TEST(Ranks, LeastOfAllCounts) {
  std::vector<Reading> readings{trace("r0.json", 0, 8e-3), trace("r1.json", 1, 2e-3), trace("r2.json", 2, 5e-3)};
  take_least_of_ranks(readings);
  EXPECT_THAT(readings[0].measurements, IsEmpty());
  EXPECT_THAT(readings[2].measurements, IsEmpty());
  ASSERT_THAT(readings[1].measurements, SizeIs(1));
  EXPECT_FALSE(readings[1].measurements[0].holds_waits);
  EXPECT_EQ(readings[1].measurements[0].group, "profiler: collective, least of 3 ranks");
  ASSERT_THAT(readings[0].left_out, SizeIs(1));
  EXPECT_EQ(readings[0].left_out[0].where, "r0.json:7");
  EXPECT_EQ(readings[0].left_out[0].why, "another rank waited less for the same collective");
}

TEST(Ranks, OneRankOrOthersMachinesTellNothingOfWaits) {
  for (const Reading& other : {trace("b.json", 0, 2e-3), trace("b.json", {}, 2e-3), trace("b.json", 1, 2e-3, "A100")}) {
    std::vector<Reading> readings{trace("a.json", 0, 8e-3), other};
    take_least_of_ranks(readings);
    for (const Reading& reading : readings) {
      ASSERT_THAT(reading.measurements, SizeIs(1));
      EXPECT_TRUE(reading.measurements[0].holds_waits);
    }
  }
}

}  // namespace
}  // namespace c3sim::calibrate
