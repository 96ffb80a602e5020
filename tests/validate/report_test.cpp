#include "validate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "tests/testing.h"
#include "tests/validate/cases.h"

namespace c3sim::validate {
namespace {

Case of_suite(const std::string& suite, double value, std::optional<double> predicted) {
  Case one = measured(value, predicted);
  one.suite = suite;
  one.id = suite + "/t.csv:2/time";
  one.group = "g";
  return one;
}

// Returns the texts of a column, "-" for nothing.
std::vector<std::string> column(const study::ResultTable& from, const std::string& key) {
  std::vector<std::string> texts;
  for (const std::vector<study::Cell>& row : from.rows()) {
    const study::Cell& cell = row.at(place_of(from.columns(), key));
    const std::optional<double> number = study::number_of(cell);
    const auto* const text = std::get_if<std::string>(&cell);
    texts.push_back(number ? fmt::format("{:g}", *number) : text != nullptr ? *text : "-");
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

// What waits for other ranks is shown with its prediction and interval, but does not count.
TEST(Report, CountsIntervalsOfScoredCasesAlone) {
  Validation validation;
  validation.uncertainty = study::Sampling{};
  validation.cases = {of_suite("s", 1.0, 1.1), of_suite("s", 9.0, 1.1)};
  for (Case& one : validation.cases) one.interval = study::Interval{0.9, 1.2};
  validation.cases[1].why_not_scored = "its time holds waits for other ranks";
  EXPECT_THAT(verdict(validation), HasSubstr("1 of 1 measured values lie within the 90 % intervals"));
}

// Bands are 10 %, repetitions lie from 0.8 to 1.25. Two of three cases of one table were measured more than once, with
// half widths of 10 and 20 % of the measured value; one of the three has another role, and one case belongs to another
// table.
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
  const study::ResultTable tables = report(validation).table("tables")->table;
  EXPECT_THAT(column(tables, "role"), ElementsAre("calibrate", "predict"));
  EXPECT_THAT(column(tables, "cases"), ElementsAre("2", "1"));
  EXPECT_THAT(column(tables, "noise_pct"), ElementsAre("15", "-"));
  EXPECT_THAT(column(tables, "median_error_pct"), ElementsAre("30", "0"));
  EXPECT_THAT(column(tables, "fitted"), ElementsAre("all", ""));
  EXPECT_THAT(column(tables, "command"), ElementsAre("c3sim validate s --case t.csv", "c3sim validate s --case t.csv"));
  EXPECT_THAT(accuracy_page(validation),
              AllOf(HasSubstr("| GEMMs | MI300X | calibrate | 2 | 15.0 | 30.0 | 38.0 | 30.0 |"),
                    HasSubstr("- t.csv, GEMMs on MI300X: loop. Fitted to it: all.\n")));
}

TEST(Report, HasChartsOfEverySuite) {
  Validation validation;
  validation.suites = {{"s", "Title", "Question?", "mi300x"}};
  validation.cases = {of_suite("s", 1.0, 1.1)};
  study::Results results = report(validation);
  add_charts(validation, results);
  const auto& chart = std::get<study::ScatterChart>(results.table("groups")->charts.at(0));
  EXPECT_EQ(chart.title, "Title: predicted over measured, us");
  EXPECT_EQ(chart.caption, "Question? On the platform mi300x.");
}

TEST(Report, OfNothingIsEmpty) {
  const study::Results results = report({});
  EXPECT_EQ(results.platform, "");
  for (const study::NamedTable& named : results.tables) EXPECT_THAT(named.table.rows(), IsEmpty());
}

Validation with_group(const std::string& group) {
  Validation validation;
  validation.suites = {{"s", "Title", "", "mi300x"}};
  Case one = measured(1.0, 1.2);
  one.suite = "s";
  one.group = group;
  Case unpredicted = measured(1.0, {});
  unpredicted.suite = "s";
  unpredicted.group = group;
  validation.cases = {one, unpredicted};
  return validation;
}

TEST(Markdown, EscapesWhatFilesSay) {
  const std::string page = accuracy_page(with_group("a|b <script> *x* _y_ `z` [l](u) c\\d\r\ne"));
  EXPECT_THAT(page, HasSubstr(R"(| a\|b \<script> \*x\* \_y\_ \`z\` \[l](u) c\\d  e | time |)"));
}

// A row has as many cells as there are headings, whatever text the cells hold.
TEST(Markdown, TablesHaveAsManyCellsAsHeadings) {
  Validation validation = with_group("a|b|c\n|d");
  validation.left_out = {{"s", "f|g.csv", "why | not\n|", 3}};
  std::istringstream lines(accuracy_page(validation));
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      columns = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line;
  }
}

TEST(Markdown, SaysWhatIsLeftOutAndWhy) {
  Validation validation = with_group("g");
  validation.left_out = {{"s", "a.csv", "another GPU", 3}, {"", "b.csv", "the whole file: empty", 0}};
  const std::string page = accuracy_page(validation);
  EXPECT_THAT(page, HasSubstr("\ns:\n\n- a.csv, 3 rows: another GPU\n"));
  EXPECT_THAT(page, HasSubstr("\nyour files:\n\n- b.csv: the whole file: empty\n"));
  EXPECT_THAT(page, HasSubstr("Left out: 3 rows and 1 file."));
}

TEST(Markdown, MarksClaimsOutsideTheirBands) {
  Validation validation;
  Claim claim{.id = "a.b",
              .text = "mean",
              .published = "1.6",
              .low = 1.55,
              .high = 1.65,
              .role = calibrate::Role::predict,
              .predicted = {1.6532}};
  validation.claims = {claim};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("\nRole predict:\n"));
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| a.b | mean | 1.653 | 1.6 | 1.55 to 1.65 | outside band |"));
  validation.gaps.resize(1);
  validation.gaps[0].deviation.number = 7;
  validation.gaps[0].deviation.claims = {"a.b"};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| outside band, deviation 7 |"));
  validation.gaps.clear();
  validation.claims[0].predicted = {1.6};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| 1.55 to 1.65 | holds |"));
  validation.claims[0].predicted = {};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| 1.55 to 1.65 | not predicted |"));
}

TEST(Markdown, HasASectionForEveryDeviation) {
  Validation validation;
  Gap of_claims{.deviation = {}, .tested = true, .open = true, .size = "a.b: 2, band 0 to 1"};
  of_claims.deviation.number = 2;
  of_claims.deviation.title = "Too well";
  of_claims.deviation.cause = "A turn of 1 ms.";
  of_claims.deviation.decides = "A probe.";
  of_claims.deviation.claims = {"a.b"};
  Gap of_group = of_claims;
  of_group.deviation.number = 8;
  of_group.deviation.claims.clear();
  of_group.deviation.suite = "latte";
  of_group.deviation.group = "copies";
  validation.gaps = {of_claims, of_group};
  const std::string page = deviations_page(validation);
  EXPECT_THAT(page, HasSubstr("\n## 2. Too well\n\nclaims a.b: a.b: 2, band 0 to 1.\n\nCause: A turn of 1 ms.\n\n"
                              "What would decide: A probe.\n"));
  EXPECT_THAT(page, HasSubstr("\n## 8. Too well\n\nsuite latte, copies: "));
  EXPECT_THAT(accuracy_page(validation), Not(HasSubstr("Too well")));
}

}  // namespace
}  // namespace c3sim::validate
