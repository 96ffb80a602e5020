#include "validate/metrics.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "validate/case.h"

namespace c3sim::validate {
namespace {

using study::Figure;
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

TEST(Case, IsWrongByARatioOrByPoints) {
  EXPECT_NEAR(measured(4.0, 5.0).error(), 0.25, 1e-12);
  EXPECT_NEAR(measured(4.0, 3.0).error(), -0.25, 1e-12);
  EXPECT_NEAR(measured(0.4, 0.5, Figure::copy_share).error(), 0.1, 1e-12);
}

TEST(Case, WithoutAPredictionIsWithinNothing) {
  Case one = measured(4.0, {});
  one.low = 0.0;
  one.high = 10.0;
  EXPECT_FALSE(one.is_within_band());
  EXPECT_FALSE(one.is_within_noise());
}

TEST(Case, OfAShareHasItsNoiseInPoints) {
  Case one = measured(0.4, 0.5, Figure::copy_share);
  one.low = 0.3;
  one.high = 0.5;
  EXPECT_NEAR(one.noise().value(), 0.1, 1e-12);
}

TEST(Subject, NamesMachineTrialAndFigureButNotWhatIsTried) {
  Case one = measured(1.0, {}, Figure::bus_bandwidth);
  one.machine = {"h200", {"gpus=4"}, {"gpu.power.cap=600 W"}};
  one.trial = all_gather(1024);
  EXPECT_EQ(subject_of(one), "h200 gpus=4: rccl all_gather of 1KiB over all GPUs: bus_bandwidth");
}

TEST(Command, ReproducesThePrediction) {
  Case one = measured(1.0, {});
  one.machine = {"mi300x", {}};
  one.trial = study::GemmTrial{.shape = {8192, 8192, 8192}, .cus = 240};
  EXPECT_EQ(command_of(one), "c3sim gemm --gemm 8192x8192x8192 --cus 240");
  one.machine = {"h200", {"gpus=4"}, {"gpu.sdma.engines=8"}};
  EXPECT_EQ(command_of(one),
            "c3sim gemm --gemm 8192x8192x8192 --cus 240 --platform h200 --set gpus=4 --set gpu.sdma.engines=8");
}

// Nothing asks for a board at rest but the case itself.
TEST(Command, OfWhatNoCommandAsksShowsTheCase) {
  Case one = measured(1.0, {}, Figure::power);
  one.suite = "power";
  one.where = "power.csv:5";
  one.id = "power/power.csv:5/power";
  one.machine = {"mi300x", {}, {"gpu.power.idle=95 W"}};
  EXPECT_EQ(command_of(one), "c3sim validate power --case power/power.csv:5/power --set 'gpu.power.idle=95 W'");
  one.suite = "";
  one.id = one.where + "/power";
  one.machine.changes.clear();
  EXPECT_EQ(command_of(one), "c3sim validate power.csv --case power.csv:5/power");
}

TEST(Command, IsSafeToPasteWhateverAFileIsCalled) {
  Case one = measured(1.0, {}, Figure::power);
  one.where = "it's; rm -r x.csv:5";
  one.id = "a";
  EXPECT_EQ(command_of(one), R"(c3sim validate 'it'\''s; rm -r x.csv' --case a)");
}

Case predicted_as(double factor, study::Trial trial = all_gather(1e6)) {
  Case one = measured(1e-3, factor * 1e-3);
  one.role = calibrate::Role::predict;
  one.machine.platform = "p";
  one.trial = std::move(trial);
  return one;
}

// Factors of 1.01 to 1.20, half of them too short, beside a power, a fitted row and another GPU, which do not count:
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

// Two decisions: in the first, b is measured best and predicted best; in the second a is best at 10, and b, predicted
// best, was measured at 12: a regret of 20 %, and half of that in the mean.
const std::vector<Case> two_decisions{alternative("1", "a", 4.0, 3.0), alternative("1", "b", 2.0, 2.5),
                                      alternative("2", "a", 10.0, 9.0), alternative("2", "b", 12.0, 8.0)};

TEST(Choices, CountRightAnswersAndRegret) {
  const std::vector<Choices> choices = choices_of(two_decisions);
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_EQ(choices[0].suite, "s");
  EXPECT_EQ(choices[0].group, "t.csv");
  EXPECT_EQ(choices[0].decisions, 2);
  EXPECT_EQ(choices[0].predicted.right, 1);
  EXPECT_NEAR(choices[0].predicted.mean_regret, 0.1, 1e-12);
  EXPECT_NEAR(choices[0].predicted.worst_regret, 0.2, 1e-12);
}

// Always a: 4 against 2, a regret of 100 %, and right at 10. Always b: right at 2, and 20 % at 12. So b, with a mean of
// 10 %.
TEST(Choices, TrivialRuleIsTheBestOfThoseThatAlwaysChooseTheSame) {
  const Choices choices = choices_of(two_decisions).at(0);
  EXPECT_EQ(choices.always, "b");
  EXPECT_EQ(choices.trivial.right, 1);
  EXPECT_NEAR(choices.trivial.mean_regret, 0.1, 1e-12);
  EXPECT_NEAR(choices.trivial.worst_regret, 0.2, 1e-12);
}

// c stands in the second decision alone; in the first, always c takes a, the first there, with a regret of 100 %.
TEST(Choices, TrivialRuleTakesTheFirstWhereItsOwnWasNotMeasured) {
  const std::vector<Case> cases{alternative("1", "a", 4.0, 4.0), alternative("1", "b", 2.0, 2.0),
                                alternative("2", "c", 1.0, 1.0), alternative("2", "b", 8.0, 8.0)};
  // Always b: right, and 8 against 1, 700 %: 350 in the mean. Always a: 100 %, and c, which comes first: 50. Always c:
  // the same 50, behind a in the alphabet.
  const Choices choices = choices_of(cases).at(0);
  EXPECT_EQ(choices.always, "a");
  EXPECT_NEAR(choices.trivial.mean_regret, 0.5, 1e-12);
}

TEST(Choices, WithAnAlternativeThatIsNotPredictedAreCountedAndNotJudged) {
  std::vector<Case> cases = two_decisions;
  cases[1].predicted.reset();
  const Choices choices = choices_of(cases).at(0);
  EXPECT_EQ(choices.decisions, 1);
  EXPECT_EQ(choices.incomplete, 1);
  cases[3].predicted.reset();
  EXPECT_EQ(choices_of(cases).at(0).decisions, 0);
  EXPECT_EQ(choices_of(cases).at(0).incomplete, 2);
  EXPECT_EQ(choices_of(cases).at(0).predicted.mean_regret, 0.0);
}

TEST(Choices, OfOneAlternativeAreNone) {
  EXPECT_THAT(choices_of(std::vector{alternative("1", "a", 1.0, 1.0)}), IsEmpty());
  EXPECT_THAT(choices_of(std::vector{alternative("1", "a", 1.0, 1.0), alternative("1", "a", 2.0, 1.0)}), IsEmpty());
  EXPECT_THAT(choices_of(std::vector{measured(1.0, 1.0)}), IsEmpty());
}

TEST(Choices, ThatAreRightAndTheirRegret) {
  struct Row {
    std::string why;
    std::vector<Case> cases;
    int right;
    double regret;
    std::string always;
  };
  const std::vector<Row> rows{
      {"at 4 and 2 GB/s the first is best although its number is larger",
       {alternative("1", "a", 4e9, 3e9, Figure::rate), alternative("1", "b", 2e9, 2e9, Figure::rate)},
       1,
       0.0,
       "a"},
      {"chosen at 2 GB/s where 4 are to be had, the same bytes take twice as long",
       {alternative("1", "a", 4e9, 1e9, Figure::rate), alternative("1", "b", 2e9, 2e9, Figure::rate)},
       0,
       1.0,
       "a"},
      {"either of two that are equally fast is right",
       {alternative("1", "a", 1.0, 2.0), alternative("1", "b", 1.0, 1.0)},
       1,
       0.0,
       "a"},
      {"means are 1.1 of a and 1.2 of b: a is best and chosen, though one of its runs took longer than one of b's",
       {alternative("1", "a", 1.3, 1.0), alternative("1", "b", 1.2, 1.5), alternative("1", "a", 0.9, 1.0),
        alternative("1", "b", 1.2, 1.5)},
       1,
       0.0,
       "a"},
      {"times and bandwidths are not compared with each other: the time decides",
       {alternative("1", "a", 1.0, 2.0), alternative("1", "b", 2.0, 1.0),
        alternative("1", "a", 4e9, 4e9, Figure::bus_bandwidth), alternative("1", "b", 2e9, 2e9, Figure::bus_bandwidth)},
       0,
       1.0,
       "a"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    const Choices choices = choices_of(row.cases).at(0);
    EXPECT_EQ(choices.decisions, 1);
    EXPECT_EQ(choices.predicted.right, row.right);
    EXPECT_NEAR(choices.predicted.worst_regret, row.regret, 1e-12);
    EXPECT_EQ(choices.always, row.always);
  }
}

TEST(Choices, StandBySuiteAndTable) {
  std::vector<Case> cases = two_decisions;
  for (Case& one : cases) one.where = one.decision == "1" ? "one.csv:2" : "two.csv:2";
  std::vector<std::string> tables;
  for (const Choices& choices : choices_of(cases)) tables.push_back(choices.group);
  EXPECT_THAT(tables, ElementsAre("one.csv", "two.csv"));
}

// Who believes measured values themselves has nothing to regret.
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
