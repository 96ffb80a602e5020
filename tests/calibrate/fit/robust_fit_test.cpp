#include "calibrate/fit/robust_fit.h"

#include <cmath>

#include "calibrate/fit/step_residuals.h"
#include "calibrate/fit/task.h"
#include "study/play/platform_file.h"
#include "study/report/statistics.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

// Turns a function of one point into one of many.
template <class Function>
Residuals residuals_of(const Function& function) {
  return [function](std::span<const Point> points) {
    std::vector<std::vector<double>> all;
    for (const Point& point : points) all.push_back(function(point));
    return all;
  };
}

std::vector<FitRow> rows(std::size_t count, double noise = 0.01) { return {count, FitRow{0, noise}}; }

// Returns the distances from the line y = 0.2 + 0.5 x at eleven places.
std::vector<double> line(const Point& point) {
  std::vector<double> residuals;
  for (int i = 0; i <= 10; ++i) {
    const double x = i / 10.0;
    residuals.push_back(point[0] + point[1] * x - (0.2 + 0.5 * x));
  }
  return residuals;
}

TEST(RobustFit, FindsTheLineThatPointsLieOn) {
  const Solution found = robust_fit(residuals_of(line), rows(11), std::vector<Point>{{0.9, 0.9}});
  EXPECT_TRUE(found.converged) << found.report;
  EXPECT_NEAR(found.point[0], 0.2, 1e-4);
  EXPECT_NEAR(found.point[1], 0.5, 1e-4);
}

TEST(RobustFit, StaysWithinItsBox) {
  const auto beyond = [](const Point& point) { return std::vector{point[0] - 1.7, point[0] - 1.7}; };
  const Solution found = robust_fit(residuals_of(beyond), rows(2), std::vector<Point>{{0.5}});
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

// Three rows want 0.2 and thirty of another kind 0.6: kinds weigh the same, so the middle has the least sum. If every
// row weighed the same, the thirty would pull it to 0.56.
TEST(RobustFit, GivesEveryKindTheSameWeight) {
  const auto torn = [](const Point& point) {
    std::vector<double> residuals(3, point[0] - 0.2);
    residuals.insert(residuals.end(), 30, point[0] - 0.6);
    return residuals;
  };
  std::vector<FitRow> both(3, FitRow{0, 0.01});
  both.insert(both.end(), 30, FitRow{1, 0.01});
  EXPECT_NEAR(robust_fit(residuals_of(torn), both, std::vector<Point>{{0.5}}).point[0], 0.4, 1e-3);
}

// The sine has its least square at 0.75 + n / 3; a quarter of the way down lies another valley. The slope of 0.1 makes
// the right one the deepest.
TEST(RobustFit, LeavesAValleyThatIsNotTheDeepest) {
  const auto valleys = [](const Point& point) {
    return std::vector{1.0 + std::sin(6.0 * M_PI * point[0]), 0.3 * (1.0 - point[0])};
  };
  const Solution found = robust_fit_of_several(residuals_of(valleys), std::vector<FitRow>{{0, 0.01}, {1, 0.01}}, 1);
  EXPECT_NEAR(found.point[0], 11.0 / 12.0, 0.03);
}

// At 0.2 six of ten rows fit and four are a factor of 20 off, at 0.8 all are 22 % off, half of them to either side. A
// loss three times as wide as the spread of the six would forgive the four: 0.0114 there, 0.0195 at 0.8. Under one
// loss, whichever it is, 0.8 costs a fifth or less.
TEST(RobustFit, ComparesValleysUnderOneLoss) {
  const auto two = [](const Point& point) {
    const bool left = point[0] < 0.5;
    std::vector<double> residuals;
    for (int i = 0; i < 10; ++i) {
      const double off = left ? (i < 6 ? 0.0 : 3.0) : (i % 2 == 0 ? 0.2 : -0.2);
      residuals.push_back(off + point[0] - (left ? 0.2 : 0.8));
    }
    return residuals;
  };
  for (const std::vector<Point>& starts : {std::vector<Point>{{0.1}, {0.9}}, std::vector<Point>{{0.9}, {0.1}}}) {
    EXPECT_NEAR(robust_fit(residuals_of(two), rows(10), starts).point[0], 0.8, 0.01);
  }
}

TEST(RobustFit, IsTheSameEveryTime) {
  const Solution once = robust_fit_of_several(residuals_of(line), rows(11), 2);
  const Solution again = robust_fit_of_several(residuals_of(line), rows(11), 2);
  EXPECT_EQ(once.point, again.point);
}

TEST(RobustFit, SaysThatItDidNotConverge) {
  const auto nowhere = [](const Point&) { return std::vector(2, std::nan("")); };
  const Solution found = robust_fit(residuals_of(nowhere), rows(2), std::vector<Point>{{0.5}});
  EXPECT_FALSE(found.converged);
  EXPECT_FALSE(found.report.empty());
}

models::PlatformSpec h200() { return study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", {}).spec; }

Measurement measurement(study::Trial trial, std::map<Figure, double> seen) {
  Measurement row{.file = "f.csv", .line = 7, .trial = std::move(trial)};
  for (const auto& [figure, value] : seen) row.seen.push_back({.figure = figure, .value = value});
  return row;
}

TEST(Observation, IsPredictedOverMeasuredLessOne) {
  study::Testbed testbed(h200());
  const study::CopyTrial copy{{0, 1, sim::Bytes(1e6), {}}};
  const double time = study::observe(testbed, copy, {Figure::time}).at(Figure::time);
  // Against half the time the prediction is 100 % too long, against twice the time 50 % too short.
  const Measurement half = measurement(copy, {{Figure::time, time / 2.0}});
  const Measurement twice = measurement(copy, {{Figure::time, time * 2.0}});
  const std::vector<const Measurement*> both{&half, &twice};
  const std::vector<Observation> observations = observe(h200(), both);
  ASSERT_EQ(observations.size(), 2u);
  EXPECT_DOUBLE_EQ(observations[0].error, 1.0);
  EXPECT_DOUBLE_EQ(observations[1].error, -0.5);
  EXPECT_EQ(observations[0].where, "f.csv:7");
  EXPECT_EQ(observations[0].kind, "copy");
}

TEST(Observation, LeavesOutFiguresThatTheModelHasNot) {
  const Measurement rest = measurement(study::RestTrial{}, {{Figure::power, 100.0}, {Figure::flop_rate, 1.0}});
  const std::vector<const Measurement*> one{&rest};
  const std::vector<Observation> observations = observe(h200(), one);
  ASSERT_EQ(observations.size(), 1u);
  EXPECT_EQ(observations[0].figure, Figure::power);
}

TEST(Observation, OfASharesIsTheDifferenceInPoints) {
  study::Testbed testbed(h200());
  const study::CopyTrial copy{{0, 1, sim::Bytes(1e6), {}}};
  const double share = study::observe(testbed, copy, {Figure::copy_share}).at(Figure::copy_share);
  const Measurement row = measurement(copy, {{Figure::copy_share, share - 0.1}});
  const std::vector<const Measurement*> one{&row};
  const std::vector<Observation> observations = observe(h200(), one);
  ASSERT_EQ(observations.size(), 1u);
  EXPECT_NEAR(observations[0].error, 0.1, 1e-12);
  EXPECT_NEAR(observations[0].residual(), 0.1, 1e-12);
}

// A normal distribution has 2.563 deviations between its 10th and 90th percentile, but two values drawn from it lie
// only 1.128 (2 / sqrt(pi)) deviations apart.
TEST(Observation, HasTheNoiseOfItsRepetitions) {
  Measurement row = measurement(study::CopyTrial{{0, 1, sim::Bytes(1e6), {}}}, {{Figure::time, 1e-5}});
  const std::vector<const Measurement*> one{&row};
  EXPECT_DOUBLE_EQ(observe(h200(), one)[0].noise, usual_noise);
  row.seen[0].low = 0.9e-5;
  row.seen[0].high = 1.1e-5;
  EXPECT_NEAR(observe(h200(), one)[0].noise, 0.2 / 2.563, 1e-9);
  row.seen[0].deviations = study::deviations_between(0.0, 2);
  EXPECT_NEAR(observe(h200(), one)[0].noise, 0.2 * std::sqrt(M_PI) / 2.0, 1e-3);
}

TEST(Observation, NamesTheRowThatThePlatformCannotRun) {
  const Measurement gemm = measurement(study::GemmTrial{.shape = {64, 64, 64}, .cus = 133},  // of the 132 SMs there are
                                       {{Figure::time, 1.0}});
  const std::vector<const Measurement*> one{&gemm};
  EXPECT_THAT(config_fault([&] { observe(h200(), one); }), AllOf(HasSubstr("f.csv:7: "), HasSubstr("1 to 132")));
}

// These tests ask for the model's own error, by work and size.

// All-gathers by RCCL from 128 KiB on have a bin of their own; each is measured as longer than predicted by a factor.
class SpreadOfGathers : public testing::Test {
 protected:
  double deviation(const std::vector<double>& longer, const std::vector<std::size_t>& outliers) {
    std::vector<Measurement> measurements;
    for (std::size_t i = 0; i < longer.size(); ++i) {
      study::CollectiveTrial trial;
      trial.spec.bytes = sim::Bytes(131072.0 * static_cast<double>(i + 1));
      study::Testbed testbed(fitted_.spec());
      Measurement& one = measurements.emplace_back();
      one.trial = trial;
      one.file = "gathers.csv";
      one.line = static_cast<int>(i) + 2;
      const double predicted = study::observe(testbed, trial, {study::Figure::time}).at(study::Figure::time);
      one.seen.push_back({.figure = study::Figure::time, .value = predicted * longer[i]});
    }
    Task task;
    for (const Measurement& one : measurements) task.measurements.push_back(&one);
    task.step = &steps().front();
    std::vector<Observation> left_out;
    for (const std::size_t row : outliers) left_out.push_back({.of = &measurements[row], .where = "", .kind = ""});
    const std::vector<Spread> spreads = spreads_of(task, fitted_, left_out, 1);
    EXPECT_EQ(spreads.size(), 1U);
    return spreads.front().deviation;
  }
  PlatformText fitted_{C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", folders};
};

// Nine tenths of a normal distribution lie within 1.645 standard deviations: the sixth of six rows counts.
TEST_F(SpreadOfGathers, IsOfRowsThatTheFitListenedTo) {
  const std::vector<double> longer{1.02, 0.98, 1.01, 1.02, 3.0, 1.01};
  EXPECT_NEAR(deviation(longer, {}), std::log(3.0) / 1.645, 1e-6);
  EXPECT_NEAR(deviation(longer, {4}), std::log(1.0 / 0.98) / 1.645, 1e-6) << "-ln 0.98 is more than ln 1.02";
}

TEST_F(SpreadOfGathers, IsOfAllRowsWhereMostAreOutliers) {
  EXPECT_NEAR(deviation({3.0, 3.0, 1.0}, {0, 1}), std::log(3.0) / 1.645, 1e-6);
}

// A Fit is the fit of a number of rows with equal noise, and the errors that it states.
struct Fit {
  Residuals residuals;
  std::vector<FitRow> rows;
  Solution solution;
  FitErrors errors;
};
template <class Function>
Fit fit_of(const Function& function, std::size_t count, double noise, const Point& start) {
  Fit fit{residuals_of(function), rows(count, noise), {}, {}};
  fit.solution = robust_fit(fit.residuals, fit.rows, std::vector<Point>{start});
  fit.errors = errors_of(fit.solution, fit.residuals, fit.rows);
  return fit;
}
std::vector<double> held_out_of(const Fit& fit) {
  return held_out_residuals(fit.solution, fit.errors, fit.residuals, fit.rows);
}

// The mean of n values that scatter by s has a standard error of s / sqrt(n); the scatter of 16 values +-0.04 around it
// is 0.04 sqrt(16 / 15).
TEST(FitErrors, OfAMeanIsTheScatterOverTheRootOfTheNumber) {
  const auto scattered = [](const Point& point) {
    std::vector<double> residuals;
    for (int i = 0; i < 16; ++i) residuals.push_back(point[0] - 0.5 + (i % 2 == 0 ? 0.04 : -0.04));
    return residuals;
  };
  const Fit fit = fit_of(scattered, 16, 0.001, {0.3});
  EXPECT_NEAR(fit.errors.unknowns[0].standard, 0.04 * std::sqrt(16.0 / 15.0) / 4.0, 2e-4);
  EXPECT_FALSE(fit.errors.unknowns[0].by_profile);
  EXPECT_NEAR(fit.errors.unknowns[0].high - 0.5, 1.96 * fit.errors.unknowns[0].standard, 1e-4);
}

// Four equal values say nothing of their scatter: the noise that is known of them remains, 0.02 / sqrt(4).
TEST(FitErrors, IsNotBelowWhatNoiseAloneMakes) {
  const auto equal = [](const Point& point) { return std::vector<double>(4, point[0] - 0.5); };
  const Fit fit = fit_of(equal, 4, 0.02, {0.3});
  EXPECT_NEAR(fit.errors.unknowns[0].standard, 0.01, 1e-4);
}

// If only the sum of two unknowns shows, they are as vague as their ranges, and known to be each other's opposite.
TEST(FitErrors, TellsWhatOnlyShowsTogether) {
  const auto sum = [](const Point& point) {
    return std::vector{point[0] + point[1] - 1.0, point[0] + point[1] - 1.0, point[0] + point[1] - 1.0};
  };
  const Fit fit = fit_of(sum, 3, 0.02, {0.4, 0.4});
  EXPECT_TRUE(fit.errors.unknowns[0].says_nothing());
  EXPECT_TRUE(fit.errors.unknowns[1].says_nothing());
  EXPECT_NEAR(fit.errors.correlation(0, 1), -1.0, 1e-3);
}

// Three rows measure a + b as 1: who believes that b is 0.1 larger finds a 0.1 smaller, unless a is at its limit.
TEST(FitErrors, TellsHowASolutionFollowsWhatOthersFound) {
  const auto sum = [](const Point& point) { return std::vector<double>(3, point[0] + 0.5 - 1.0); };
  Fit fit = fit_of(sum, 3, 0.02, {0.4});
  const Eigen::MatrixXd by_the_other = Eigen::MatrixXd::Constant(3, 1, 1.0);
  EXPECT_NEAR(response_of(fit.solution, fit.errors, by_the_other)(0, 0), -1.0, 1e-6);
  fit.errors.unknowns[0].at_limit = true;
  EXPECT_EQ(response_of(fit.solution, fit.errors, by_the_other)(0, 0), 0.0);
}

// The residuals fix the square of an unknown at 0.01: its slope at 0.1 promises the same error on either side, 0.005 /
// 0.2 = 0.025; but (0.1 + x)^2 reaches 0.01 + 2 * 0.005 at x = 0.041, and 0.01 - 2 * 0.005 only at x = -0.1.
TEST(FitErrors, FollowsTheProfileWhereSlopesMislead) {
  const auto square = [](const Point& point) { return std::vector<double>(4, point[0] * point[0] - 0.01); };
  const Fit fit = fit_of(square, 4, 0.01, {0.3});
  ASSERT_TRUE(fit.errors.unknowns[0].by_profile);
  EXPECT_NEAR(fit.errors.unknowns[0].high, std::sqrt(0.01 + 1.96 * 0.005), 0.005);
  EXPECT_NEAR(fit.errors.unknowns[0].low, std::sqrt(0.01 - 1.96 * 0.005), 0.02);
}

// Something else bounds the rate from 0.3 on: what slopes show there is the tolerance of a clock.
TEST(FitErrors, OfAnUnknownWhoseHighValuesAreAlikeIsOpen) {
  const auto bounded = [](const Point& point) {
    return std::vector<double>(16, std::max(0.0, 0.3 - point[0]) + 1e-4 * std::sin(50.0 * point[0]));
  };
  EXPECT_TRUE(fit_of(bounded, 16, 0.01, {0.5}).errors.unknowns[0].is_open);
  const auto square = [](const Point& point) { return std::vector<double>(4, point[0] * point[0] - 0.01); };
  EXPECT_FALSE(fit_of(square, 4, 0.01, {0.3}).errors.unknowns[0].is_open);
}

TEST(FitErrors, OfAnUnknownAtItsLimitReachInwards) {
  const auto beyond = [](const Point& point) { return std::vector<double>(4, point[0] - 1.02); };
  const Fit fit = fit_of(beyond, 4, 0.04, {0.5});
  const UnknownError error = fit.errors.unknowns[0];
  EXPECT_TRUE(error.at_limit);
  EXPECT_TRUE(error.by_profile);
  EXPECT_DOUBLE_EQ(error.high, 1.0);
  // The cost (1.02 - x)^2 has risen by (1.96 * 0.02)^2 above its value at 1 where 1.02 - x = sqrt(0.0392^2 + 0.02^2).
  EXPECT_NEAR(error.low, 1.02 - std::sqrt(0.0392 * 0.0392 + 0.02 * 0.02), 0.003);
}

// A profile that rises nowhere in the range gives an interval of all of it, and so an error of 1 / (2 x 1.96).
TEST(FitErrors, SayNothingWhereTheIntervalIsTheRange) {
  UnknownError error{.standard = 0.255, .high = 1.0};
  EXPECT_TRUE(error.says_nothing());
  error.low = 0.1;
  EXPECT_FALSE(error.says_nothing());
}

// A held-out row of a mean of n lies n / (n - its fold) times as far from it: with 20 rows in five folds 20 / 16.
TEST(HeldOut, RowsLieFartherOffThanFittedOnes) {
  const auto scattered = [](const Point& point) {
    std::vector<double> residuals;
    for (int i = 0; i < 20; ++i) residuals.push_back(point[0] - 0.5 + (i % 5 == 0 ? 0.04 : -0.01));
    return residuals;
  };
  const Fit fit = fit_of(scattered, 20, 0.5, {0.3});  // the loss is so wide that all rows keep their full weight
  const std::vector<double> held_out = held_out_of(fit);
  ASSERT_EQ(held_out.size(), 20u);
  EXPECT_NEAR(held_out[0], 0.04 * 20.0 / 16.0, 5e-4);
}

TEST(HeldOut, AsksForTenRows) {
  const auto few = [](const Point& point) { return std::vector<double>(9, point[0] - 0.5); };
  const Fit fit = fit_of(few, 9, 0.01, {0.3});
  EXPECT_TRUE(held_out_of(fit).empty());
}

}  // namespace
}  // namespace c3sim::calibrate
