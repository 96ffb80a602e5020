#include "study/run/run_cache.h"

#include <gtest/gtest.h>

#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

Schedule copy_of(double bytes, const std::string& name = "a") {
  return {operation(name, models::SdmaCopySpec{0, 1, sim::Bytes(bytes), {}})};
}

Timeline ending_at(std::int64_t end) {
  Timeline timeline;
  timeline.operations.push_back({sim::Time(0), sim::Time(end), {}});
  return timeline;
}

TEST(RunCache, FindsARunByWhatDecidesHowItPlaysOut) {
  RunCache cache;
  cache.keep(copy_of(1.0), Between::nothing, ending_at(1));
  cache.keep(copy_of(2.0), Between::nothing, ending_at(2));
  cache.keep(copy_of(1.0), Between::communication, ending_at(3));
  EXPECT_EQ(cache.find(copy_of(1.0, "another name"), Between::nothing)->makespan(), sim::Time(1));
  EXPECT_EQ(cache.find(copy_of(2.0), Between::nothing)->makespan(), sim::Time(2));
  EXPECT_EQ(cache.find(copy_of(1.0), Between::communication)->makespan(), sim::Time(3));
  EXPECT_EQ(cache.find(copy_of(3.0), Between::nothing), nullptr);
}

// Each of these schedules has one operation.
TEST(RunCache, ForgetsTheOldestRunsBeyondItsBound) {
  RunCache cache(10, 2);
  for (int i = 1; i <= 100; ++i) cache.keep(copy_of(i), Between::nothing, ending_at(i));
  EXPECT_EQ(cache.size(), 10U);
  EXPECT_EQ(cache.find(copy_of(90.0), Between::nothing), nullptr);
  EXPECT_EQ(cache.find(copy_of(91.0), Between::nothing)->makespan(), sim::Time(91));
}

TEST(RunCache, KeepsTheNewestRunsHoweverLongTheyAre) {
  RunCache cache(1, 2);
  for (int i = 1; i <= 3; ++i) cache.keep(copy_of(i), Between::nothing, ending_at(i));
  EXPECT_EQ(cache.size(), 2U);
}

}  // namespace
}  // namespace c3sim::study
