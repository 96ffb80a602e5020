#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calibrate/fit/robust_fit.h"
#include "tests/calibrate/fit/residuals.h"

namespace c3sim::calibrate {
namespace {

// The mean of n values that scatter by s has a standard error of s / sqrt(n); the scatter of 16 values +-0.04 around
// it is 0.04 sqrt(16 / 15).
TEST(FitErrors, OfAMeanIsTheScatterOverTheRootOfTheNumber) {
  const auto scattered = [](const Point& point) {
    std::vector<double> residuals;
    for (int i = 0; i < 16; ++i) residuals.push_back(point[0] - 0.5 + (i % 2 == 0 ? 0.04 : -0.04));
    return residuals;
  };
  const std::vector<FitRow> rows(16, FitRow{0, 0.001});
  const Residuals residuals = residuals_of(scattered);
  const FitErrors errors = errors_of(robust_fit(residuals, rows, {0.3}), residuals, rows);
  EXPECT_NEAR(errors.unknowns[0].standard, 0.04 * std::sqrt(16.0 / 15.0) / 4.0, 2e-4);
  EXPECT_FALSE(errors.unknowns[0].by_profile);
  EXPECT_NEAR(errors.unknowns[0].high - 0.5, 1.96 * errors.unknowns[0].standard, 1e-4);
}

// Four equal values say nothing of their scatter: the noise that is known of them is what is left, 0.02 / sqrt(4).
TEST(FitErrors, IsNotBelowWhatNoiseAloneMakes) {
  const auto equal = [](const Point& point) { return std::vector<double>(4, point[0] - 0.5); };
  const std::vector<FitRow> rows(4, FitRow{0, 0.02});
  const Residuals residuals = residuals_of(equal);
  EXPECT_NEAR(errors_of(robust_fit(residuals, rows, {0.3}), residuals, rows).unknowns[0].standard, 0.01, 1e-4);
}

// Where only the sum of two shows, they are as vague as their ranges, and known to be each other's opposite.
TEST(FitErrors, TellsWhatOnlyShowsTogether) {
  const auto sum = [](const Point& point) {
    return std::vector{point[0] + point[1] - 1.0, point[0] + point[1] - 1.0, point[0] + point[1] - 1.0};
  };
  const std::vector<FitRow> rows(3, FitRow{0, 0.02});
  const Residuals residuals = residuals_of(sum);
  const FitErrors errors = errors_of(robust_fit(residuals, rows, {0.4, 0.4}), residuals, rows);
  EXPECT_TRUE(errors.unknowns[0].says_nothing());
  EXPECT_TRUE(errors.unknowns[1].says_nothing());
  EXPECT_NEAR(errors.correlation(0, 1), -1.0, 1e-3);
}

// a + b is measured as 1 in three rows: who believes that b is 0.1 larger finds a 0.1 smaller, unless it is at its
// limit.
TEST(FitErrors, TellsHowASolutionFollowsWhatOthersFound) {
  const auto sum = [](const Point& point) { return std::vector<double>(3, point[0] + 0.5 - 1.0); };
  const std::vector<FitRow> rows(3, FitRow{0, 0.02});
  const Residuals residuals = residuals_of(sum);
  const Solution solution = robust_fit(residuals, rows, {0.4});
  FitErrors errors = errors_of(solution, residuals, rows);
  const Eigen::MatrixXd by_the_other = Eigen::MatrixXd::Constant(3, 1, 1.0);
  EXPECT_NEAR(response_of(solution, errors, by_the_other)(0, 0), -1.0, 1e-6);
  errors.unknowns[0].at_limit = true;
  EXPECT_EQ(response_of(solution, errors, by_the_other)(0, 0), 0.0);
}

// The square of an unknown fixed at 0.01: its slope at 0.1 promises the same error on either side, 0.005 / 0.2 = 0.025;
// but (0.1 + x)^2 reaches 0.01 + 2 * 0.005 at x = 0.041, and 0.01 - 2 * 0.005 only at x = -0.1.
TEST(FitErrors, FollowsTheProfileWhereSlopesMislead) {
  const auto square = [](const Point& point) { return std::vector<double>(4, point[0] * point[0] - 0.01); };
  const std::vector<FitRow> rows(4, FitRow{0, 0.01});
  const Residuals residuals = residuals_of(square);
  const FitErrors errors = errors_of(robust_fit(residuals, rows, {0.3}), residuals, rows);
  ASSERT_TRUE(errors.unknowns[0].by_profile);
  EXPECT_NEAR(errors.unknowns[0].high, std::sqrt(0.01 + 1.96 * 0.005), 0.005);
  EXPECT_NEAR(errors.unknowns[0].low, std::sqrt(0.01 - 1.96 * 0.005), 0.02);
}

TEST(FitErrors, OfAnUnknownAtItsLimitReachInwards) {
  const auto beyond = [](const Point& point) { return std::vector<double>(4, point[0] - 1.02); };
  const std::vector<FitRow> rows(4, FitRow{0, 0.04});
  const Residuals residuals = residuals_of(beyond);
  const UnknownError error = errors_of(robust_fit(residuals, rows, {0.5}), residuals, rows).unknowns[0];
  EXPECT_TRUE(error.at_limit);
  EXPECT_TRUE(error.by_profile);
  EXPECT_DOUBLE_EQ(error.high, 1.0);
  // The cost (1.02 - x)^2 has risen by (1.96 * 0.02)^2 above its value at 1 where 1.02 - x = sqrt(0.0392^2 + 0.02^2).
  EXPECT_NEAR(error.low, 1.02 - std::sqrt(0.0392 * 0.0392 + 0.02 * 0.02), 0.003);
}

// Held out, a row of a mean of n lies n / (n - its fold) times as far from it: with 20 rows in five folds 20 / 16.
// A profile that rises nowhere in the range gives an interval of all of it, and so an error of 1 / (2 x 1.96).
TEST(FitErrors, SayNothingWhereTheIntervalIsTheRange) {
  UnknownError error;
  error.standard = 0.255;
  error.high = 1.0;
  EXPECT_TRUE(error.says_nothing());
  error.low = 0.1;
  EXPECT_FALSE(error.says_nothing());
}

TEST(HeldOut, RowsLieFartherOffThanFittedOnes) {
  const auto scattered = [](const Point& point) {
    std::vector<double> residuals;
    for (int i = 0; i < 20; ++i) residuals.push_back(point[0] - 0.5 + (i % 5 == 0 ? 0.04 : -0.01));
    return residuals;
  };
  const std::vector<FitRow> rows(20, FitRow{0, 0.5});  // so wide a loss leaves all rows their say
  const Residuals residuals = residuals_of(scattered);
  const Solution solution = robust_fit(residuals, rows, {0.3});
  const std::vector<double> held_out =
      held_out_residuals(solution, errors_of(solution, residuals, rows), residuals, rows);
  ASSERT_EQ(held_out.size(), 20u);
  EXPECT_NEAR(held_out[0], 0.04 * 20.0 / 16.0, 5e-4);
}

TEST(HeldOut, AsksForTenRows) {
  const auto few = [](const Point& point) { return std::vector<double>(9, point[0] - 0.5); };
  const std::vector<FitRow> rows(9, FitRow{0, 0.01});
  const Residuals residuals = residuals_of(few);
  const Solution solution = robust_fit(residuals, rows, {0.3});
  EXPECT_TRUE(held_out_residuals(solution, errors_of(solution, residuals, rows), residuals, rows).empty());
}

}  // namespace
}  // namespace c3sim::calibrate
