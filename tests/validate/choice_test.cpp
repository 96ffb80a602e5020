#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "validate/metrics.h"

namespace c3sim::validate {
namespace {

using study::Figure;

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

// At 4 and 2 GB/s the first is best although its number is larger.
TEST(Choices, OfSpeedsTakeTheLargest) {
  const Choices choices = choices_of(std::vector{alternative("1", "a", 4e9, 3e9, Figure::rate),
                                                 alternative("1", "b", 2e9, 2e9, Figure::rate)})
                              .at(0);
  EXPECT_EQ(choices.predicted.right, 1);
  EXPECT_EQ(choices.always, "a");
}

// Chosen at 2 GB/s where 4 are to be had, the same bytes take twice as long.
TEST(Choices, RegretOfSpeedsIsThatOfTimes) {
  const Choices choices = choices_of(std::vector{alternative("1", "a", 4e9, 1e9, Figure::rate),
                                                 alternative("1", "b", 2e9, 2e9, Figure::rate)})
                              .at(0);
  EXPECT_NEAR(choices.predicted.worst_regret, 1.0, 1e-12);
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

TEST(Choices, BetweenEquallyFastAreRightEitherWay) {
  const Choices choices =
      choices_of(std::vector{alternative("1", "a", 1.0, 2.0), alternative("1", "b", 1.0, 1.0)}).at(0);
  EXPECT_EQ(choices.predicted.right, 1);
  EXPECT_EQ(choices.predicted.worst_regret, 0.0);
}

// Means are 1.1 of a and 1.2 of b: a is best and chosen, though one of its runs took longer than one of b's.
TEST(Choices, CountRepeatedMeasurementsByTheirMean) {
  const Choices choices = choices_of(std::vector{alternative("1", "a", 1.3, 1.0), alternative("1", "b", 1.2, 1.5),
                                                 alternative("1", "a", 0.9, 1.0), alternative("1", "b", 1.2, 1.5)})
                              .at(0);
  EXPECT_EQ(choices.decisions, 1);
  EXPECT_EQ(choices.predicted.right, 1);
}

// Times in seconds and bandwidths in bytes per second are not compared with each other: the time decides.
TEST(Choices, AreMadeByOneFigure) {
  const Choices choices = choices_of(std::vector{alternative("1", "a", 1.0, 2.0), alternative("1", "b", 2.0, 1.0),
                                                 alternative("1", "a", 4e9, 4e9, Figure::bus_bandwidth),
                                                 alternative("1", "b", 2e9, 2e9, Figure::bus_bandwidth)})
                              .at(0);
  EXPECT_EQ(choices.decisions, 1);
  EXPECT_EQ(choices.predicted.right, 0);
  EXPECT_NEAR(choices.predicted.worst_regret, 1.0, 1e-12);
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
