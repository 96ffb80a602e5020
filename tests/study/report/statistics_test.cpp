#include "study/report/statistics.h"

#include <map>

#include "tests/testing.h"

namespace c3sim::study {
namespace {

// These are the factors d2 of control charts (ASTM E2587, table of factors): the mean range of so many values of a
// normal distribution, in standard deviations.
TEST(DeviationsBetween, AreTheMeanRangeOfFewValues) {
  const std::map<std::size_t, double> d2{{2, 1.128}, {3, 1.693}, {5, 2.326}, {10, 3.078}, {25, 3.931}, {100, 5.015}};
  for (const auto& [count, factor] : d2) EXPECT_NEAR(deviations_between(0.0, count) / factor, 1.0, 0.02) << count;
}

// Between the 10th and the 90th percentile of a normal distribution lie 2 x 1.28155 standard deviations. Of two values,
// percentiles that are interpolated lie 0.8 of the range apart.
TEST(DeviationsBetween, AreThoseOfTheDistributionForManyValues) {
  EXPECT_NEAR(deviations_between(0.1, 100'000), 2.5631, 1e-3);
  EXPECT_NEAR(deviations_between(0.1, 2), 0.8 * 1.128, 0.02);
  EXPECT_EQ(deviations_between(0.1, 1), 0.0);
}

}  // namespace
}  // namespace c3sim::study
