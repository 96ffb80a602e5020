#include "calibrate/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace c3sim::calibrate {
namespace {

TEST(LeastSquares, SolvesALinearProblem) {
  // a = 0.3 and b = 0.7 make a + b x = 0.3, 1.0, 1.7 at x = 0, 1, 2 without a remainder.
  const Residuals line = [](std::span<const double> p) {
    return std::vector<double>{p[0] - 0.3, p[0] + p[1] - 1.0, p[0] + 2.0 * p[1] - 1.7};
  };
  const std::vector<double> found = least_squares(line, {0.5, 0.5});
  EXPECT_NEAR(found[0], 0.3, 1e-3);
  EXPECT_NEAR(found[1], 0.7, 1e-3);
}

TEST(LeastSquares, SolvesACurvedProblem) {
  // exp(2 x) = exp(1.4) at x = 0.7.
  const Residuals curve = [](std::span<const double> p) {
    return std::vector<double>{std::exp(2.0 * p[0]) - std::exp(1.4)};
  };
  EXPECT_NEAR(least_squares(curve, {0.1})[0], 0.7, 1e-3);
}

TEST(LeastSquares, TakesTheMiddleOfWhatDisagrees) {
  // The sum of (x - 0.2)^2 and (x - 0.6)^2 is least at their mean.
  const Residuals two = [](std::span<const double> p) { return std::vector<double>{p[0] - 0.2, p[0] - 0.6}; };
  EXPECT_NEAR(least_squares(two, {0.9})[0], 0.4, 1e-3);
}

TEST(LeastSquares, StopsAtTheFaceOfTheBoxAndFitsTheRest) {
  // The first would be best at 1.5; within the box, 1 is; the second is free: (1 + y - 1.25)^2 is least at 0.25.
  const Residuals beyond = [](std::span<const double> p) {
    return std::vector<double>{10.0 * (p[0] - 1.5), p[0] + p[1] - 1.25};
  };
  const std::vector<double> found = least_squares(beyond, {0.5, 0.5});
  EXPECT_DOUBLE_EQ(found[0], 1.0);
  EXPECT_NEAR(found[1], 0.25, 1e-3);
}

TEST(LeastSquares, LeavesAloneWhatMakesNoDifference) {
  const Residuals one = [](std::span<const double> p) { return std::vector<double>{p[0] - 0.2, 0.0}; };
  const std::vector<double> found = least_squares(one, {0.5, 0.5});
  EXPECT_NEAR(found[0], 0.2, 1e-3);
  EXPECT_DOUBLE_EQ(found[1], 0.5);
}

}  // namespace
}  // namespace c3sim::calibrate
