#include "validate/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "validate/evaluation.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using ::testing::Optional;

Metrics metrics_of_cases(const std::vector<Case>& cases) { return metrics_of(pointers(cases)); }

// The samples in tests/data/samples/reports.samples hold metrics of cases that were worked out by hand.
TEST(Metrics, OfNothingAreNought) {
  const Metrics metrics = metrics_of_cases({});
  EXPECT_EQ(metrics.cases, 0u);
  EXPECT_FALSE(metrics.wmape.has_value());
}

// With equals the ranks are 1, 2.5, 2.5, 4 and 1, 2, 3, 4, each with mean 2.5: products of deviations 2.25 + 0 + 0
// + 2.25 = 4.5, squares 4.5 and 5, so 4.5 / sqrt(22.5) = 0.9487.
TEST(RankCorrelation, IsOneOfTheSameOrderMinusOneOfTheOppositeSharedByEqualsAndNoneOfAConstant) {
  const std::vector<double> up{1.0, 2.0, 30.0, 400.0};
  const auto with_up = [&up](const std::vector<double>& other) { return rank_correlation(up, other); };
  EXPECT_THAT(with_up(up), Optional(DoubleNear(1.0, rounding)));
  EXPECT_THAT(with_up({9.0, 8.0, 1.0, 0.5}), Optional(DoubleNear(-1.0, rounding)));
  EXPECT_THAT(with_up({1.0, 7.0, 7.0, 9.0}), Optional(DoubleNear(4.5 / std::sqrt(22.5), rounding)));
  EXPECT_EQ(with_up({1.0, 1.0, 1.0, 1.0}), std::nullopt);
}

// Draws some cases, every seventh without a prediction.
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
  // The factor is a power of two, so that no error moves across a limit by rounding.
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

TEST(Case, WithoutAPredictionIsWithinNothing) {
  Case one = measured(4.0, {});
  one.low = 0.0;
  one.high = 10.0;
  EXPECT_FALSE(one.is_within_band());
  EXPECT_FALSE(one.is_within_noise());
}

// No command asks for a board at rest: the command shows the case.
TEST(Command, OfWhatNoCommandAsksShowsTheCase) {
  Case one = measured(1.0, {}, Figure::power);
  one.suite = "power";
  one.where = "power.csv:5";
  one.id = "power/power.csv:5/power";
  one.machine = {"mi300x", {}, {"gpu.power.idle=95 W"}};
  EXPECT_EQ(command_of(one), "c3sim validate power --case power/power.csv:5/power --set 'gpu.power.idle=95 W'");
  one.suite = "";
  one.path = "runs/power.csv";
  one.id = one.where + "/power";
  one.machine.changes.clear();
  EXPECT_EQ(command_of(one), "c3sim validate runs/power.csv --case power.csv:5/power");
}

Case predicted_as(double factor, study::Trial trial = all_gather(1e6)) {
  Case one = measured(1e-3, factor * 1e-3);
  one.role = calibrate::Role::predict;
  one.machine.platform = "p";
  one.trial = std::move(trial);
  return one;
}

// Factors are 1.01 to 1.20, half of them too short, among a power, a fitted row and another GPU, which do not count:
// the median of their logarithms lies between those of 1.10 and 1.11, at 0.09983. A normal distribution has half within
// 0.6745 and nine in ten within 1.6449 standard deviations: 0.24346.
TEST(UnfittedErrors, NineInTenStayWithinTheFactor) {
  std::vector<Case> cases;
  for (int i = 1; i <= 20; ++i) cases.push_back(predicted_as(i % 2 == 0 ? 1.0 + 0.01 * i : 1.0 / (1.0 + 0.01 * i)));
  Case fitted = predicted_as(9.0);
  fitted.role = calibrate::Role::calibrate;
  cases.push_back(fitted);
  Case power = predicted_as(9.0);
  power.figure = study::Figure::power;
  cases.push_back(power);
  Case other = predicted_as(9.0);
  other.machine.assignments = {"gpus=2", "gpu.memory.hbm.capacity=80 GB"};
  cases.push_back(other);
  cases.front().machine.assignments = {"gpus=2", "gpu.gemm.library=l", "host.protocol=rounds"};
  const std::vector<UnfittedError> errors = unfitted_errors(cases);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].work, study::Unfitted::alone);
  EXPECT_EQ(errors[0].cases, 20u);
  EXPECT_NEAR(errors[0].nine_in_ten, std::expm1(0.24346), 1e-4);
  EXPECT_FALSE(errors[0].of_all);
  EXPECT_EQ(errors[1].work, study::Unfitted::beside);
  EXPECT_TRUE(errors[1].of_all) << "none is of that work: all of the platform tell";
  EXPECT_EQ(errors[1].nine_in_ten, errors[0].nine_in_ten);
}

TEST(UnfittedErrors, AreNoneOfFewCases) {
  EXPECT_TRUE(unfitted_errors(std::vector<Case>(9, predicted_as(1.1))).empty());
  EXPECT_EQ(unfitted_errors(std::vector<Case>(10, predicted_as(1.1))).size(), 3u);
}

Case alternative(const std::string& about, const std::string& name, double measured_value,
                 std::optional<double> predicted, Figure figure = Figure::time) {
  Case one = measured(measured_value, predicted, figure);
  one.suite = "s";
  one.where = "t.csv:2";
  one.decision = about;
  one.alternative = name;
  return one;
}

// Choices by the measured values themselves have no regret.
RC_GTEST_PROP(Choices, ByPerfectPredictionsAreAllRight, ()) {
  std::vector<Case> cases;
  const int decisions = *rc::gen::inRange(1, 6);
  for (int about = 0; about < decisions; ++about) {
    for (const char* const name : {"a", "b", "c"}) {
      const double value = *rc::gen::inRange(1, 1000);
      cases.push_back(alternative(std::to_string(about), name, value, value));
    }
  }
  const Choices choices = choices_of(cases).at(0);
  RC_ASSERT(choices.predicted.right == decisions);
  RC_ASSERT(choices.predicted.worst_regret == 0.0);
  RC_ASSERT(choices.trivial.mean_regret >= 0.0);
  RC_ASSERT(choices.trivial.worst_regret >= choices.trivial.mean_regret - 1e-12);
}

}  // namespace
}  // namespace c3sim::validate
