// Quantiles, as every part of the program tells them.
#include "study/report/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace c3sim::study {
namespace {

TEST(Quantile, MedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(quantile({7.0}, 0.5), 7.0);
  EXPECT_EQ(quantile({4.0, 1.0}, 0.5), 2.5);
  EXPECT_EQ(quantile({9.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(quantile({4.0, 1.0, 2.0, 100.0}, 0.5), 3.0);
  EXPECT_EQ(median({7.0}), 7.0);
  EXPECT_EQ(median({4.0, 1.0, 2.0, 100.0}), 3.0);
}

// Of 0, 10, 20, 30, 40 a tenth lies 0.4 steps of 10 above the first.
TEST(Quantile, LiesBetweenTheNearestTwo) {
  const std::vector<double> values{40.0, 10.0, 0.0, 30.0, 20.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 4.0);
  EXPECT_EQ(quantile(values, 0.0), 0.0);
  EXPECT_EQ(quantile(values, 1.0), 40.0);
}

TEST(Quantile, PlacesBeyondTheEndsAreTheEnds) {
  const std::vector<double> sorted{1.0, 2.0};
  EXPECT_EQ(value_at(sorted, -0.5), 1.0);
  EXPECT_EQ(value_at(sorted, 1.5), 2.0);
}

RC_GTEST_PROP(Quantile, LiesWithinTheValuesAndGrowsWithTheShare, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<double>>();
  const double share = *rc::gen::inRange(0, 100) / 100.0;
  const double here = quantile(values, share);
  RC_ASSERT(std::ranges::min(values) <= here && here <= quantile(values, share + 0.01));
  RC_ASSERT(quantile(values, 1.0) == std::ranges::max(values));
}

}  // namespace
}  // namespace c3sim::study
