#include "validate/report.h"

#include <fmt/format.h>

#include <sstream>

#include "tests/testing.h"
#include "tests/validate/cases.h"

namespace c3sim::validate {
namespace {

using study::Figure;

Case of_suite(const std::string& suite, double value, std::optional<double> predicted) {
  Case one = measured(value, predicted);
  one.suite = suite;
  one.id = suite + "/t.csv:2/time";
  one.group = "g";
  return one;
}

const study::ResultTable& table(const study::Results& results, const std::string& key) {
  return std::ranges::find(results.tables, key, &study::NamedTable::key)->table;
}

// The texts of a column, numbers with two decimals, "-" where there is nothing.
std::vector<std::string> column(const study::ResultTable& from, const std::string& key) {
  const auto place = std::ranges::find(from.columns(), key, &study::Column::key) - from.columns().begin();
  std::vector<std::string> texts;
  for (const std::vector<study::Cell>& row : from.rows()) {
    const study::Cell& cell = row[static_cast<std::size_t>(place)];
    if (const auto* text = std::get_if<std::string>(&cell))
      texts.push_back(*text);
    else if (const auto* number = std::get_if<double>(&cell))
      texts.push_back(fmt::format("{:.2f}", *number));
    else if (const auto* whole = std::get_if<std::int64_t>(&cell))
      texts.push_back(std::to_string(*whole));
    else
      texts.emplace_back("-");
  }
  return texts;
}

TEST(Report, NamesEveryPlatformOnce) {
  Validation validation;
  for (const char* const platform : {"mi300x", "h200", "mi300x", "h200"})
    validation.suites.push_back({"s", "", "", platform});
  EXPECT_EQ(report(validation).platform, "mi300x, h200");
}

// Programs find the same tables in every report; people are spared empty ones.
TEST(Report, HasEveryTableAndShowsThoseWithRows) {
  Validation validation;
  validation.suites = {{"s", "", "", "mi300x"}};
  validation.cases = {of_suite("s", 1.0, 1.1)};
  const study::Results results = report(validation);
  std::vector<std::string> keys;
  for (const study::NamedTable& named : results.tables) keys.push_back(named.key);
  EXPECT_THAT(keys, ElementsAre("cases", "suites", "tables", "simulators", "costs", "cost_parts", "cost_runs", "groups",
                                "baselines", "choices", "claims", "deviations", "worst", "unfitted", "unscored",
                                "left_out", "left_out_rows"));
  std::ostringstream text;
  study::write(results, study::Format::table, text);
  EXPECT_THAT(text.str(), HasSubstr("Errors by suite"));
  EXPECT_THAT(text.str(), Not(HasSubstr("Claims of papers")));
}

// Calibrate and predict apart; what has no prediction is counted beside what has.
TEST(Report, CountsEveryCaseOfAGroup) {
  Validation validation;
  validation.suites = {{"s", "", "", "mi300x"}};
  validation.cases = {of_suite("s", 1.0, 1.2), of_suite("s", 1.0, {}), of_suite("s", 1.0, 1.0)};
  validation.cases[2].role = calibrate::Role::predict;
  const study::Results results = report(validation);
  EXPECT_THAT(column(table(results, "suites"), "role"), ElementsAre("unlisted", "predict"));
  EXPECT_THAT(column(table(results, "suites"), "cases"), ElementsAre("2", "1"));
  EXPECT_THAT(column(table(results, "suites"), "not_predicted"), ElementsAre("1", "0"));
  EXPECT_THAT(column(table(results, "suites"), "median_error_pct"), ElementsAre("20.00", "0.00"));
  EXPECT_THAT(column(table(results, "suites"), "outside_band"), ElementsAre("1", "0"));
  EXPECT_THAT(table(results, "cases").rows(), SizeIs(3));
}

// Bands are 10 %, repetitions lie from 0.8 to 1.25.
// Two of three cases of one table were measured more than once, half widths 10 and 20 % of what was measured; one of
// the three is of another role, and one of another table.
TEST(Report, CountsCasesByDescribedTable) {
  Validation validation;
  validation.tables = {
      {"s", "t.csv", {.what = "GEMMs", .machine = "MI300X", .protocol = "loop", .fitted = "all", .others = ""}}};
  Case first = of_suite("s", 1.0, 1.2);
  first.role = calibrate::Role::calibrate;
  first.table = 0;
  first.low = 0.9;
  first.high = 1.1;
  Case second = first;
  second.low = 0.8;
  second.high = 1.2;
  second.predicted = 1.4;
  Case other_role = of_suite("s", 1.0, 1.0);
  other_role.role = calibrate::Role::predict;
  other_role.table = 0;
  Case other_table = of_suite("s", 1.0, 2.0);
  validation.cases = {first, second, other_role, other_table};
  const study::ResultTable tables = table(report(validation), "tables");
  EXPECT_THAT(column(tables, "role"), ElementsAre("calibrate", "predict"));
  EXPECT_THAT(column(tables, "cases"), ElementsAre("2", "1"));
  EXPECT_THAT(column(tables, "noise_pct"), ElementsAre("15.00", "-"));
  EXPECT_THAT(column(tables, "median_error_pct"), ElementsAre("30.00", "0.00"));
  EXPECT_THAT(column(tables, "fitted"), ElementsAre("all", ""));
  EXPECT_THAT(column(tables, "command"), ElementsAre("c3sim validate s --case t.csv", "c3sim validate s --case t.csv"));
  EXPECT_THAT(accuracy_page(validation),
              HasSubstr("| GEMMs | MI300X | loop | calibrate | 2 | 15.0 | 30.0 | 38.0 | 30.0 |"));
}

TEST(Report, SaysOfEveryCaseHowItFares) {
  Validation validation;
  validation.suites = {{"s", "", "", "mi300x"}};
  for (const auto& [predicted, has_noise] : std::vector<std::pair<std::optional<double>, bool>>{
           {1.05, true}, {1.2, true}, {1.05, false}, {1.2, false}, {{}, false}}) {
    Case& one = validation.cases.emplace_back(of_suite("s", 1.0, predicted));
    if (has_noise) one.low = 0.8;
    if (has_noise) one.high = 1.25;
    one.why_not_predicted = predicted ? "" : "too large";
  }
  const study::Results results = report(validation);
  EXPECT_THAT(column(table(results, "cases"), "verdict"),
              ElementsAre("within noise", "within noise, outside band", "within band", "outside band", "too large"));
  EXPECT_THAT(column(table(results, "cases"), "noise_pct"), ElementsAre("22.50", "22.50", "-", "-", "-"));
  EXPECT_THAT(column(table(results, "worst"), "error_pct"), ElementsAre("20.00", "20.00", "5.00", "5.00"));
  EXPECT_EQ(verdict(validation), "2 of 4 cases lie within their bands, 1 have no prediction.");
  EXPECT_EQ(validation.outside(), 2u);
}

TEST(Report, CountsClaimsThatHoldOfThoseThatAreAsked) {
  Claim claim;
  claim.low = 1.0;
  claim.high = 2.0;
  claim.predicted = {1.5};
  Validation validation;
  validation.claims = {claim, claim, claim};
  validation.claims[1].predicted = {3.0};
  validation.claims[2].predicted = {};
  EXPECT_EQ(verdict(validation), "0 of 0 cases lie within their bands; 1 of 2 claims hold.");
  EXPECT_EQ(validation.outside(), 1u);
  EXPECT_THAT(column(table(report(validation), "claims"), "verdict"),
              ElementsAre("holds", "outside band", "not predicted"));
}

// Errors of c3sim are 10 and 20 %, of the rule 30 % on the first case; the second has no rule and is not compared.
TEST(Contests, AreHeldOnCasesThatBothPredict) {
  Validation validation;
  validation.cases = {of_suite("s", 1.0, 1.1), of_suite("s", 1.0, 1.2), of_suite("s", 1.0, {})};
  validation.cases[0].baselines.perfect = 0.7;
  validation.cases[2].baselines.perfect = 1.0;
  const std::vector<Contest> contests = contests_of(validation);
  ASSERT_THAT(contests, SizeIs(1));
  EXPECT_EQ(contests[0].rule, "perfect overlap");
  EXPECT_EQ(contests[0].cases, 1u);
  EXPECT_NEAR(contests[0].ours, 0.1, 1e-12);
  EXPECT_NEAR(contests[0].theirs, 0.3, 1e-12);
  EXPECT_TRUE(contests[0].won());
}

TEST(Contests, StandPerSuiteOperationStrategyAndFigure) {
  Validation validation;
  study::C3Trial pair;
  for (const study::Strategy strategy : {study::Strategy::c3_sp, study::Strategy::conccl}) {
    for (const Figure figure : {Figure::gemm_time, Figure::collective_time}) {
      Case one = of_suite("overlap", 1.0, 1.1);
      pair.strategy = strategy;
      one.trial = pair;
      one.figure = figure;
      one.baselines.perfect = 1.0;
      one.baselines.serial = 2.0;
      validation.cases.push_back(one);
    }
  }
  std::vector<std::string> names;
  for (const Contest& contest : contests_of(validation)) {
    names.push_back(contest.operation + " " + contest.strategy + " " + contest.rule +
                    (contest.won() ? " won" : " lost"));
  }
  EXPECT_THAT(names,
              ElementsAre("GEMM c3_sp perfect overlap lost", "GEMM c3_sp one after the other won",
                          "GEMM conccl perfect overlap lost", "GEMM conccl one after the other won",
                          "collective c3_sp perfect overlap lost", "collective c3_sp one after the other won",
                          "collective conccl perfect overlap lost", "collective conccl one after the other won"));
}

TEST(Report, OfNothingIsEmpty) {
  const study::Results results = report({});
  EXPECT_EQ(results.platform, "");
  for (const study::NamedTable& named : results.tables) EXPECT_THAT(named.table.rows(), IsEmpty());
}

}  // namespace
}  // namespace c3sim::validate
