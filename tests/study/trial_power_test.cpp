// The energy model against validate/reference/h200x8/power.csv. Four of its figures have fitted four energies, so that
// these are no surprise; that all four lie inside ranges of their own, and those of the next tests, is.
#include <gtest/gtest.h>

#include "study/ask/trial.h"
#include "tests/models/model_fixture.h"
#include "tests/study/seen_of_trial.h"

namespace c3sim::study {
namespace {

using sim::operator""_GiB;
using sim::operator""_MiB;

double power(const Trial& trial) { return figure(models::h200(), trial, Figure::power); }

TEST(PowerOfTrials, OfAGatherOnSmsIsAHundredWattsMoreThanOfOneOnCopyEngines) {
  EXPECT_NEAR(power(RestTrial{}), 124.6, 3.0 * watt);
  EXPECT_NEAR(power(gather(models::Backend::rccl, 4_GiB)), 325.1, 7.0 * watt);
  EXPECT_NEAR(power(gather_by_engines(4_GiB)), 225.5, 7.0 * watt);
  EXPECT_NEAR(power(StreamTrial{2, 1, 12_GiB}), 561.9, 28.0 * watt);
}

TEST(PowerOfTrials, IsLessForSmallerGathers) {
  for (CollectiveTrial trial : {gather(models::Backend::rccl, {}), gather_by_engines({})}) {
    const auto of = [&](sim::Bytes bytes) {
      trial.spec.bytes = bytes;
      return power(trial);
    };
    EXPECT_LT(power(RestTrial{}), of(1_MiB));
    EXPECT_LT(of(1_MiB), of(64_MiB));
    EXPECT_LT(of(64_MiB), of(4_GiB));
  }
}

// A known gap: busy workgroups draw their power while they wait for flags, too. Measured are 161.5 W.
TEST(PowerOfTrials, OfASmallGatherOnSmsIsTooMuchByHalf) {
  EXPECT_GT(power(gather(models::Backend::rccl, 1_MiB)), 1.3 * 161.5 * watt);
}

}  // namespace
}  // namespace c3sim::study
