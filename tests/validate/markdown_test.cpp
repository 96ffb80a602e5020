#include <algorithm>
#include <sstream>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "validate/report.h"

namespace c3sim::validate {
namespace {

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

// Cells do not add up to other columns, whatever is in them.
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

// 20 % off, one of two; bands are 10 %.
TEST(Markdown, TableOfAccuracyCountsEveryCase) {
  const std::string table = accuracy_table(with_group("g"));
  EXPECT_THAT(table,
              HasSubstr("| Title | unlisted | 2 (1 not predicted) | 20.0 | 20.0 | 20.0 | +20.0 | 0 / 0 / 0 | 1 |"));
  EXPECT_THAT(table, HasSubstr("0 of 1 cases lie within their bands, 1 have no prediction."));
}

// 10 and 30 % off, of one case; c3sim is 20 % off.
TEST(Markdown, TableOfAccuracyNamesTheBestRule) {
  Validation validation = with_group("g");
  validation.cases[0].baselines.perfect = 1.1 * validation.cases[0].measured;
  validation.cases[0].baselines.serial = 1.3 * validation.cases[0].measured;
  EXPECT_THAT(accuracy_table(validation), HasSubstr("| perfect overlap 10.0 (c3sim 20.0) of 1 |"));
}

// Predictions come before what was fitted to, the MI300X before other machines.
TEST(Markdown, TableOfAccuracyBeginsWithPredictionsOfTheMi300x) {
  Validation validation = with_group("g");
  validation.suites = {{"a", "A", "", "h200"}, {"b", "B", "", "h200"}, {"c", "C", "", "mi300x_conccl"}};
  const Case one = validation.cases[0];
  validation.cases.clear();
  for (const auto& [suite, role] :
       {std::pair{"a", calibrate::Role::calibrate}, std::pair{"b", calibrate::Role::predict},
        std::pair{"c", calibrate::Role::predict}}) {
    validation.cases.push_back(one);
    validation.cases.back().suite = suite;
    validation.cases.back().role = role;
  }
  const std::string table = accuracy_table(validation);
  EXPECT_LT(table.find("| C |"), table.find("| B |"));
  EXPECT_LT(table.find("| B |"), table.find("| A |"));
}

TEST(Markdown, OfNoPredictionsShowsNoFigures) {
  Validation validation = with_group("g");
  validation.cases[0].predicted.reset();
  EXPECT_THAT(accuracy_table(validation), HasSubstr("| Title | unlisted | 2 (2 not predicted) |  |  |  |  |  |  |"));
}

TEST(Markdown, SaysWhatIsLeftOutAndWhy) {
  Validation validation = with_group("g");
  validation.left_out = {{"s", "a.csv", "another GPU", 3}, {"", "b.csv", "the whole file: empty", 0}};
  const std::string page = accuracy_page(validation);
  EXPECT_THAT(page, HasSubstr("| s | a.csv | 3 |  | another GPU |"));
  EXPECT_THAT(page, HasSubstr("| your files | b.csv |  |  | the whole file: empty |"));
  EXPECT_THAT(page, HasSubstr("Left out: 3 rows and 1 file."));
}

TEST(Markdown, MarksClaimsOutsideTheirBands) {
  Validation validation;
  Claim claim;
  claim.id = "a.b";
  claim.text = "mean";
  claim.published = "1.6";
  claim.low = 1.55;
  claim.high = 1.65;
  claim.role = calibrate::Role::predict;
  claim.predicted = {1.6532};
  validation.claims = {claim};
  EXPECT_THAT(accuracy_page(validation),
              HasSubstr("| a.b | mean | predict | 1.653 | 1.6 | 1.550 | 1.650 | outside band |"));
  validation.claims[0].predicted = {1.6};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| 1.550 | 1.650 | holds |"));
  validation.claims[0].predicted = {};
  EXPECT_THAT(accuracy_page(validation), HasSubstr("| 1.550 | 1.650 | not predicted |"));
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
