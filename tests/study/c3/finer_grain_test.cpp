#include "study/c3/finer_grain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

FinerGrainStudy small_study() {
  FinerGrainStudy study;
  study.name = "small";
  study.gemms = {{"a", {2048, 16384, 8192}}, {"b", {2048, 8192, 8192}}, {"c", {256, 8192, 1024}}};
  for (const char* const name : {"serial_rccl", "serial_sdma", "shard_overlap", "finer_hetero_fused_1d"}) {
    study.schedules.push_back(dependent_schedule(name));
  }
  return study;
}

TEST(FinerGrainStudies, SplitAllThatASchedulesTakesLongerIntoTwoLosses) {
  Testbed testbed(mi300x().spec);
  for (const FinerGrainResult& one : run_finer_grain_study(testbed, small_study(), true)) {
    EXPECT_EQ(one.ideal() + one.decomposition() + one.contention(), one.time);
    EXPECT_GE(one.contention(), sim::Time::zero()) << to_string(one.schedule);
  }
}

// One after the other nobody is in anyone's way, and nothing is hidden: what is lost is the shorter of the two.
TEST(FinerGrainStudies, SerialSchedulesLoseTheShorterOne) {
  Testbed testbed(mi300x().spec);
  for (const FinerGrainResult& one : run_finer_grain_study(testbed, small_study(), true)) {
    if (to_string(one.schedule) != "serial_rccl") continue;
    const double shorter = sim::to_microseconds(std::min(one.gemm_alone, one.collective_alone));
    const models::HostSpec& host = testbed.platform().host;
    // The launch of the second one, and the notice of the first one's end.
    const double queued = sim::to_microseconds(host.kernel_launch + host.kernel_notice);
    EXPECT_NEAR(sim::to_microseconds(one.decomposition()), shorter - queued, 0.01 * shorter);
    EXPECT_NEAR(sim::to_microseconds(one.contention()), 0.0, 0.01 * shorter);
    EXPECT_DOUBLE_EQ(one.speedup(), 1.0);
  }
}

TEST(FinerGrainStudies, DoNotDependOnThreads) {
  Testbed testbed(mi300x().spec);
  const auto once = run_finer_grain_study(testbed, small_study(), false, {}, 1);
  const auto again = run_finer_grain_study(testbed, small_study(), false, {}, 3);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].time, again[i].time);
}

// a and b differ by a factor of two in one size, c from both by more: it is named what is best for b, and they what is
// best for each other.
TEST(FinerGrainStudies, TheHeuristicNamesWhatIsBestForTheNearestOther) {
  const auto result = [](const std::string& gemm, models::GemmShape shape, const std::string& schedule, int time) {
    FinerGrainResult one;
    one.gemm = gemm;
    one.shape = shape;
    one.schedule = dependent_schedule(schedule);
    one.time = sim::Time(time);
    return one;
  };
  const models::GemmShape a{2048, 16384, 8192};
  const models::GemmShape b{2048, 8192, 8192};
  const models::GemmShape c{256, 8192, 1024};
  const std::vector<NamedSchedule> named = name_by_nearest(
      {result("a", a, "serial_rccl", 100), result("a", a, "shard_overlap", 80), result("b", b, "serial_rccl", 40),
       result("b", b, "shard_overlap", 50), result("c", c, "serial_rccl", 10), result("c", c, "shard_overlap", 20)});
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(to_string(named[0].best), "shard_overlap");
  EXPECT_EQ(to_string(named[0].named), "serial_rccl");
  EXPECT_DOUBLE_EQ(named[0].lost, 0.25);
  EXPECT_EQ(to_string(named[1].named), "shard_overlap");
  EXPECT_EQ(to_string(named[2].named), "serial_rccl");
  EXPECT_DOUBLE_EQ(named[2].lost, 0.0);
}

}  // namespace
}  // namespace c3sim::study
