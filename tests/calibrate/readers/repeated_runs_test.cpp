// Many runs summed up, and which of them were alone.
#include "calibrate/readers/repeated_runs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace c3sim::calibrate {
namespace {

// Of 1 to 10, nine tenths of the way from 1 to 2, the middle between 5 and 6, a tenth from 9 to 10.
TEST(RepeatedRuns, PercentilesLieBetweenTheNearestTwo) {
  const Percentiles spread = percentiles_of({10, 1, 9, 2, 8, 3, 7, 4, 6, 5});
  EXPECT_DOUBLE_EQ(spread.median, 5.5);
  EXPECT_DOUBLE_EQ(spread.low, 1.9);
  EXPECT_DOUBLE_EQ(spread.high, 9.1);
  EXPECT_EQ(percentiles_of({3.0}).low, 3.0);
}

// A user's two all-gathers: (2860.88 + 2937.68) / 2.
TEST(RepeatedRuns, MedianOfTwoIsTheirMean) { EXPECT_DOUBLE_EQ(percentiles_of({2937.68, 2860.88}).median, 2899.28); }

RC_GTEST_PROP(RepeatedRuns, SpreadIsInOrder, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<double>>();
  const Percentiles spread = percentiles_of(values);
  RC_ASSERT(spread.low <= spread.median && spread.median <= spread.high);
}

TEST(RepeatedRuns, LongOneIsBesideTheShortOnesWithinIt) {
  EXPECT_EQ(is_beside_others({{0, 0.0, 10.0}, {0, 1.0, 2.0}, {0, 3.0, 4.0}, {0, 11.0, 12.0}, {1, 1.0, 2.0}}),
            (std::vector{true, true, true, false, false}));
}

// A clock of microseconds lets a kernel begin before the one before it ends.
TEST(RepeatedRuns, AHundredthIsNothing) {
  EXPECT_EQ(is_beside_others({{0, 0.0, 1.0}, {0, 0.995, 2.0}}), (std::vector{false, false}));
  EXPECT_EQ(is_beside_others({{0, 0.0, 1.0}, {0, 0.98, 2.0}}), (std::vector{true, true}));
}

// As holding each against each other has it, where stays are of one length.
RC_GTEST_PROP(RepeatedRuns, FindsWhatAComparisonOfAllPairsFinds, ()) {
  const auto begins = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200));
  std::vector<Stay> stays;
  for (const int begin : begins) stays.push_back({begin % 2, begin * 1.0, begin + 5.0});
  const std::vector<bool> found = is_beside_others(stays);
  for (std::size_t i = 0; i < stays.size(); ++i) {
    bool beside = false;
    for (std::size_t j = 0; j < stays.size(); ++j) {
      const double both = std::min(stays[i].end, stays[j].end) - std::max(stays[i].begin, stays[j].begin);
      beside |= i != j && stays[i].gpu == stays[j].gpu && both > 0.05;
    }
    RC_ASSERT(found[i] == beside);
  }
}

}  // namespace
}  // namespace c3sim::calibrate
