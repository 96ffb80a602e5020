#include "calibrate/fit/robust_fit.h"

#include <cmath>

#include "calibrate/fit/step_residuals.h"
#include "calibrate/fit/task.h"
#include "sim/config/config_error.h"
#include "study/run/platform_file.h"
#include "tests/calibrate/fit/residuals.h"
#include "tests/config_folders.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

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

models::PlatformSpec h200() { return study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", {}).spec; }

Measurement measurement(study::Trial trial, std::map<Figure, double> seen) {
  Measurement row;
  row.file = "f.csv";
  row.line = 7;
  row.trial = std::move(trial);
  for (const auto& [figure, value] : seen) row.seen.push_back({.figure = figure, .value = value});
  return row;
}

TEST(Observation, IsPredictedOverMeasuredLessOne) {
  study::Testbed testbed(h200());
  const study::CopyTrial copy{{0, 1, sim::Bytes(1e6), {}}};
  const double time = study::observe(testbed, copy, {Figure::time}).at(Figure::time);
  // Measured half as long: the prediction is 100 % too long. Twice as long: 50 % too short.
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

// A normal distribution has 2.563 deviations between its 10th and 90th percentile.
TEST(Observation, HasTheNoiseOfItsRepetitions) {
  Measurement row = measurement(study::CopyTrial{{0, 1, sim::Bytes(1e6), {}}}, {{Figure::time, 1e-5}});
  const std::vector<const Measurement*> one{&row};
  EXPECT_DOUBLE_EQ(observe(h200(), one)[0].noise, usual_noise);
  row.seen[0].low = 0.9e-5;
  row.seen[0].high = 1.1e-5;
  EXPECT_NEAR(observe(h200(), one)[0].noise, 0.2 / 2.563, 1e-9);
}

TEST(Observation, NamesTheRowThatThePlatformCannotRun) {
  const Measurement gemm = measurement(study::GemmTrial{.shape = {64, 64, 64}, .cus = 133},  // of 132 SMs
                                       {{Figure::time, 1.0}});
  const std::vector<const Measurement*> one{&gemm};
  try {
    observe(h200(), one);
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("f.csv:7: "));
    EXPECT_THAT(error.what(), HasSubstr("1 to 132"));
  }
}

// The model's own error, by work and size.

// All-gathers by RCCL from 128 KiB on, in a bin of their own, each measured as much longer than predicted.
class SpreadOfGathers : public testing::Test {
 protected:
  double deviation(const std::vector<double>& longer, const std::vector<std::size_t>& outliers) {
    std::vector<Measurement> measurements;
    for (std::size_t i = 0; i < longer.size(); ++i) {
      study::CollectiveTrial trial;
      trial.spec.bytes = sim::Bytes(131072.0 * static_cast<double>(i + 1));
      trial.spec.gpus = 8;
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
    for (const std::size_t row : outliers)
      left_out.push_back({.where = measurements[row].where(), .group = "", .kind = ""});
    const std::vector<Spread> spreads = spreads_of(task, fitted_, left_out, 1);
    EXPECT_EQ(spreads.size(), 1U);
    return spreads.front().deviation;
  }
  PlatformText fitted_{C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", folders};
};

// Nine tenths of a normal distribution lie within 1.645 standard deviations: of six rows the sixth counts.
TEST_F(SpreadOfGathers, IsOfRowsThatTheFitListenedTo) {
  const std::vector<double> longer{1.02, 0.98, 1.01, 1.02, 3.0, 1.01};
  EXPECT_NEAR(deviation(longer, {}), std::log(3.0) / 1.645, 1e-6);
  EXPECT_NEAR(deviation(longer, {4}), std::log(1.0 / 0.98) / 1.645, 1e-6) << "-ln 0.98 is more than ln 1.02";
}

TEST_F(SpreadOfGathers, IsOfAllRowsWhereMostAreOutliers) {
  EXPECT_NEAR(deviation({3.0, 3.0, 1.0}, {0, 1}), std::log(3.0) / 1.645, 1e-6);
}

}  // namespace
}  // namespace c3sim::calibrate
