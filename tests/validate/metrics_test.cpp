#include "validate/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/validate/cases.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using ::testing::DoubleNear;
using ::testing::Optional;

Metrics metrics_of_cases(const std::vector<Case>& cases) { return metrics_of(pointers(cases)); }

// Errors +2, -4, +20, -10 and +12 %.
const std::vector<Case> five{measured(100.0, 102.0), measured(50.0, 48.0), measured(10.0, 12.0), measured(200.0, 180.0),
                             measured(25.0, 28.0)};

TEST(Metrics, OfFiveCasesByHand) {
  const Metrics metrics = metrics_of_cases(five);
  EXPECT_EQ(metrics.cases, 5u);
  EXPECT_EQ(metrics.predicted, 5u);
  EXPECT_NEAR(metrics.median, 0.10, rounding);
  EXPECT_NEAR(metrics.p90, 0.168, rounding);  // 0.6 of the way from 12 to 20
  EXPECT_NEAR(metrics.worst, 0.20, rounding);
  EXPECT_NEAR(metrics.bias, 0.04, rounding);      // (2 - 4 + 20 - 10 + 12) / 5
  EXPECT_NEAR(metrics.within_5, 0.4, rounding);   // 2 and 4
  EXPECT_NEAR(metrics.within_10, 0.6, rounding);  // and 10, which belongs to it
  EXPECT_NEAR(metrics.within_15, 0.8, rounding);  // and 12
  EXPECT_EQ(metrics.within_band, 3u);             // of 10 %
  // Differences of 2, 2, 2, 20 and 3 over measured 385.
  EXPECT_THAT(metrics.wmape, Optional(DoubleNear(29.0 / 385.0, rounding)));
  EXPECT_THAT(metrics.rank_correlation, Optional(DoubleNear(1.0, rounding)));
}

// 105 over 100 less one is a little more than 0.05 to a computer.
TEST(Metrics, EndsOfBandsBelongToThem) {
  Case one = measured(100.0, 105.0);
  one.band = 0.05;
  EXPECT_GT(one.error(), 0.05);
  EXPECT_TRUE(one.is_within_band());
  EXPECT_EQ(metrics_of_cases({one}).within_5, 1.0);
  EXPECT_EQ(metrics_of_cases({one}).within_band, 1u);
  one.predicted = 105.001;
  EXPECT_FALSE(one.is_within_band());
  EXPECT_EQ(metrics_of_cases({one}).within_5, 0.0);
}

// 0.10 where 0.20 was measured is half of it, and 10 points less.
TEST(Metrics, OfSharesAreInPoints) {
  const Metrics metrics =
      metrics_of_cases({measured(0.20, 0.10, Figure::copy_share), measured(0.0, 0.04, Figure::copy_share)});
  EXPECT_NEAR(metrics.worst, 0.10, rounding);
  EXPECT_NEAR(metrics.median, 0.07, rounding);
  EXPECT_NEAR(metrics.bias, -0.03, rounding);
  EXPECT_NEAR(metrics_of_cases({measured(0.20, 0.10)}).worst, 0.50, rounding);
}

TEST(Metrics, CountWhatIsNotPredicted) {
  std::vector<Case> cases = five;
  cases.push_back(measured(1.0, {}));
  const Metrics metrics = metrics_of_cases(cases);
  EXPECT_EQ(metrics.cases, 6u);
  EXPECT_EQ(metrics.predicted, 5u);
  EXPECT_NEAR(metrics.median, 0.10, rounding);
  EXPECT_NEAR(metrics.within_5, 0.4, rounding);  // of those predicted
  const Metrics none = metrics_of_cases({measured(1.0, {})});
  EXPECT_EQ(none.cases, 1u);
  EXPECT_EQ(none.predicted, 0u);
  EXPECT_FALSE(none.wmape.has_value());
  EXPECT_EQ(metrics_of_cases({}).cases, 0u);
}

TEST(Metrics, CountWhatLiesWithinTheNoiseOfItsMeasurement) {
  Case inside = measured(100.0, 130.0);
  inside.low = 90.0;
  inside.high = 130.0;
  Case outside = inside;
  outside.predicted = 131.0;
  EXPECT_EQ(metrics_of_cases({inside, outside, measured(100.0, 100.0)}).within_noise, 1u);
  EXPECT_TRUE(inside.is_within_noise());
  EXPECT_THAT(inside.noise(), Optional(DoubleNear(0.2, rounding)));  // half of 40, of 100
}

TEST(Metrics, OfARuleAreOfTheCasesThatItPredicts) {
  std::vector<Case> cases = five;
  cases[0].baselines.serial = 150.0;
  const Metrics metrics = metrics_of(pointers(cases), [](const Case& one) { return one.baselines.serial; });
  EXPECT_EQ(metrics.cases, 5u);
  EXPECT_EQ(metrics.predicted, 1u);
  EXPECT_NEAR(metrics.median, 0.5, rounding);
}

// Sums of microseconds and watts, and their order, would say nothing.
TEST(Metrics, OfSeveralFiguresHaveNoSumsAndNoOrder) {
  std::vector<Case> cases = five;
  cases[0].figure = Figure::power;
  EXPECT_FALSE(metrics_of_cases(cases).wmape.has_value());
  EXPECT_FALSE(metrics_of_cases(cases).rank_correlation.has_value());
  EXPECT_NEAR(metrics_of_cases(cases).median, 0.10, rounding);
}

TEST(Metrics, OfFewerThanFiveCasesHaveNoOrder) {
  EXPECT_FALSE(metrics_of_cases({five.begin(), five.begin() + 4}).rank_correlation.has_value());
}

TEST(RankCorrelation, OfTheSameOrderIsOneAndOfTheOppositeMinusOne) {
  const std::vector<double> up{1.0, 2.0, 30.0, 400.0};
  const std::vector<double> down{9.0, 8.0, 1.0, 0.5};
  EXPECT_THAT(rank_correlation(up, up), Optional(DoubleNear(1.0, rounding)));
  EXPECT_THAT(rank_correlation(up, down), Optional(DoubleNear(-1.0, rounding)));
}

// Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4, each with mean 2.5: products of deviations 2.25 + 0 + 0 + 2.25 = 4.5,
// squares 4.5 and 5, so 4.5 / sqrt(22.5) = 0.9487.
TEST(RankCorrelation, SharesRanksAmongEquals) {
  const std::vector<double> ties{1.0, 7.0, 7.0, 9.0};
  const std::vector<double> plain{1.0, 2.0, 3.0, 4.0};
  EXPECT_THAT(rank_correlation(ties, plain), Optional(DoubleNear(4.5 / std::sqrt(22.5), rounding)));
}

TEST(RankCorrelation, OfAConstantIsNone) {
  EXPECT_EQ(rank_correlation(std::vector{1.0, 1.0, 1.0}, std::vector{1.0, 2.0, 3.0}), std::nullopt);
}

// Some cases, every seventh without a prediction.
rc::Gen<std::vector<Case>> some_cases() {
  const auto positive = rc::gen::map(rc::gen::inRange(1, 1000000), [](int value) { return value * 1e-6; });
  const auto one =
      rc::gen::apply([](double value, double predicted,
                        int which) { return measured(value, which == 0 ? std::nullopt : std::optional(predicted)); },
                     positive, positive, rc::gen::inRange(0, 7));
  return rc::gen::nonEmpty(rc::gen::container<std::vector<Case>>(one));
}

void expect_same(const Metrics& a, const Metrics& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(1.0, std::abs(x)); };
  const auto near_or_none = [&](std::optional<double> x, std::optional<double> y) {
    return x.has_value() == y.has_value() && (!x || near(*x, *y));
  };
  RC_ASSERT(a.cases == b.cases);
  RC_ASSERT(a.predicted == b.predicted);
  RC_ASSERT(near(a.median, b.median));
  RC_ASSERT(near(a.p90, b.p90));
  RC_ASSERT(near(a.worst, b.worst));
  RC_ASSERT(near(a.bias, b.bias));
  RC_ASSERT(near(a.within_10, b.within_10));
  RC_ASSERT(near_or_none(a.wmape, b.wmape));
  RC_ASSERT(near_or_none(a.rank_correlation, b.rank_correlation));
}

RC_GTEST_PROP(Metrics, DoNotDependOnTheOrderOfCases, ()) {
  const std::vector<Case> cases = *some_cases();
  std::vector<Case> others = cases;
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  std::ranges::shuffle(others, random);
  expect_same(metrics_of_cases(cases), metrics_of_cases(others));
}

RC_GTEST_PROP(Metrics, DoNotDependOnTheUnit, ()) {
  const std::vector<Case> cases = *some_cases();
  // A power of two, so that no error moves across a limit by rounding.
  const double factor = std::exp2(*rc::gen::inRange(-30, 30));
  std::vector<Case> others = cases;
  for (Case& one : others) {
    one.measured *= factor;
    if (one.predicted) *one.predicted *= factor;
  }
  expect_same(metrics_of_cases(cases), metrics_of_cases(others));
}

RC_GTEST_PROP(Metrics, OfPerfectPredictionsAreNought, ()) {
  std::vector<Case> cases = *some_cases();
  for (Case& one : cases) one.predicted = one.measured;
  const Metrics metrics = metrics_of_cases(cases);
  RC_ASSERT(metrics.predicted == cases.size());
  RC_ASSERT(metrics.worst == 0.0);
  RC_ASSERT(metrics.median == 0.0);
  RC_ASSERT(metrics.bias == 0.0);
  RC_ASSERT(metrics.wmape == 0.0);
  RC_ASSERT(metrics.within_5 == 1.0);
  RC_ASSERT(metrics.within_band == cases.size());
}

RC_GTEST_PROP(Metrics, AreOrderedAsTheirNamesSay, ()) {
  const Metrics metrics = metrics_of_cases(*some_cases());
  RC_ASSERT(metrics.median <= metrics.p90);
  RC_ASSERT(metrics.p90 <= metrics.worst);
  RC_ASSERT(std::abs(metrics.bias) <= metrics.worst * (1.0 + 1e-12));
  RC_ASSERT(metrics.within_5 <= metrics.within_10);
  RC_ASSERT(metrics.within_10 <= metrics.within_15);
  RC_ASSERT(metrics.predicted <= metrics.cases);
}

TEST(Metrics, CountWhatLiesWithinIntervals) {
  std::vector<Case> cases(4, measured(1.0, 1.2));
  cases[0].interval = study::Interval{1.0, 1.4};  // the end belongs to it
  cases[1].interval = study::Interval{1.1, 1.3};
  cases[2].interval = study::Interval{0.5, 2.0};
  const Metrics metrics = metrics_of_cases(cases);
  EXPECT_EQ(metrics.with_interval, 3u);
  EXPECT_EQ(metrics.within_interval, 2u);
}

}  // namespace
}  // namespace c3sim::validate
