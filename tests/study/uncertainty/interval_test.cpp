#include "study/uncertainty/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace c3sim::study {
namespace {

// Of 100 values, the i-th least has (i + 1/2) / 100 of them below it: 5 % lie half-way from the 5th (4) to the 6th (5).
TEST(Interval, GoesFromThe5thToThe95thPercentile) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 0.0);
  const std::optional<Interval> interval = interval_of(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 4.5);
  EXPECT_DOUBLE_EQ(interval->high, 94.5);
  EXPECT_TRUE(interval->holds(4.5));
  EXPECT_TRUE(interval->holds(94.5));
  EXPECT_FALSE(interval->holds(4.4));
  EXPECT_FALSE(interval->holds(94.6));
}

// 20 values have 2.5 % below the least and 7.5 % below the next: 5 % lie half-way between these.
TEST(Interval, IsNoneOfFewValues) {
  EXPECT_EQ(interval_of({}), std::nullopt);
  std::vector<double> values(19);
  std::iota(values.begin(), values.end(), 0.0);
  EXPECT_EQ(interval_of(values), std::nullopt);
  values.push_back(19.0);
  EXPECT_EQ(interval_of(values), (Interval{0.5, 18.5}));
}

// A factor of e to either side of 10 is 3.68 to 27.2: whichever reaches further at each end counts.
TEST(Interval, IsNoNarrowerThanAnErrorThatIsKnown) {
  const double e = std::exp(1.0);
  EXPECT_EQ(at_least(Interval{2.0, 12.0}, 10.0, 1.0), (Interval{2.0, 10.0 * e}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 1.0), (Interval{10.0 / e, 10.0 * e}));
  EXPECT_EQ(at_least(Interval{9.0, 11.0}, 10.0, 0.0), (Interval{9.0, 11.0}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 0.0), std::nullopt);
}

TEST(Interval, IsNoneOfValuesThatDoNotDiffer) { EXPECT_EQ(interval_of(std::vector<double>(100, 1.0)), std::nullopt); }

}  // namespace
}  // namespace c3sim::study
