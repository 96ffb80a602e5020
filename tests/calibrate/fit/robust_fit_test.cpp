#include "calibrate/fit/robust_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/calibrate/fit/residuals.h"

namespace c3sim::calibrate {
namespace {

std::vector<FitRow> rows(std::size_t count, double noise = 0.01) { return {count, FitRow{0, noise}}; }

// Distances from lines y = 0.2 + 0.5 x at eleven places.
std::vector<double> line(const Point& point) {
  std::vector<double> residuals;
  for (int i = 0; i <= 10; ++i) {
    const double x = i / 10.0;
    residuals.push_back(point[0] + point[1] * x - (0.2 + 0.5 * x));
  }
  return residuals;
}

TEST(RobustFit, FindsTheLineThatPointsLieOn) {
  const Solution found = robust_fit(residuals_of(line), rows(11), {0.9, 0.9});
  EXPECT_TRUE(found.converged) << found.report;
  EXPECT_NEAR(found.point[0], 0.2, 1e-4);
  EXPECT_NEAR(found.point[1], 0.5, 1e-4);
}

TEST(RobustFit, StaysWithinItsBox) {
  const auto beyond = [](const Point& point) { return std::vector{point[0] - 1.7, point[0] - 1.7}; };
  const Solution found = robust_fit(residuals_of(beyond), rows(2), {0.5});
  EXPECT_TRUE(found.converged) << found.report;
  EXPECT_DOUBLE_EQ(found.point[0], 1.0);
}

// One of eleven points lies 100 times too high, 4.6 in logarithms: plain least squares would move the line by 4.6 / 11
// in its middle.
TEST(RobustFit, LeavesAnOutlierNextToNoSay) {
  const auto with_outlier = [](const Point& point) {
    std::vector<double> residuals = line(point);
    residuals[3] -= std::log(100.0);
    return residuals;
  };
  const Solution found = robust_fit_of_several(residuals_of(with_outlier), rows(11), 2);
  EXPECT_NEAR(found.point[0], 0.2, 0.01);
  EXPECT_NEAR(found.point[1], 0.5, 0.01);
  EXPECT_LT(found.weights[3], found.weights[0] / 100.0);
}

// Three rows want 0.2 and thirty of another kind 0.6: kinds weigh the same, so the middle is the least sum. Rows alike
// would pull it to 0.56.
TEST(RobustFit, GivesEveryKindTheSameWeight) {
  const auto torn = [](const Point& point) {
    std::vector<double> residuals(3, point[0] - 0.2);
    residuals.insert(residuals.end(), 30, point[0] - 0.6);
    return residuals;
  };
  std::vector<FitRow> both(3, FitRow{0, 0.01});
  both.insert(both.end(), 30, FitRow{1, 0.01});
  EXPECT_NEAR(robust_fit(residuals_of(torn), both, {0.5}).point[0], 0.4, 1e-3);
}

// sin has its least square at 0.75 + n / 3; a quarter of the way down lies another valley. The slope of 0.1 makes the
// right one the deepest.
TEST(RobustFit, LeavesAValleyThatIsNotTheDeepest) {
  const auto valleys = [](const Point& point) {
    return std::vector{1.0 + std::sin(6.0 * M_PI * point[0]), 0.3 * (1.0 - point[0])};
  };
  const Solution found = robust_fit_of_several(residuals_of(valleys), std::vector<FitRow>{{0, 0.01}, {1, 0.01}}, 1);
  EXPECT_NEAR(found.point[0], 11.0 / 12.0, 0.03);
}

TEST(RobustFit, IsTheSameEveryTime) {
  const Solution once = robust_fit_of_several(residuals_of(line), rows(11), 2);
  const Solution again = robust_fit_of_several(residuals_of(line), rows(11), 2);
  EXPECT_EQ(once.point, again.point);
}

TEST(RobustFit, SaysThatItDidNotConverge) {
  const auto nowhere = [](const Point&) { return std::vector(2, std::nan("")); };
  const Solution found = robust_fit(residuals_of(nowhere), rows(2), {0.5});
  EXPECT_FALSE(found.converged);
  EXPECT_FALSE(found.report.empty());
}

}  // namespace
}  // namespace c3sim::calibrate
