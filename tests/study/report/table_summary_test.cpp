#include "study/report/table_summary.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/config/config.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::vector<TableSummary> summaries_of(const std::string& text, const ResultTable& table) {
  sim::Config config = sim::Config::from_text(text, "summaries.yaml");
  sim::Section root = config.root();
  std::vector<TableSummary> summaries = read_summaries(root, table.columns(), {});
  config.finish();
  return summaries;
}

std::vector<NamedTable> tables_of(const std::string& text, const ResultTable& table) {
  return summarized(summaries_of(text, table), table);
}

// Scenarios of a maker and a class, with their speedup and the ideal one.
ResultTable scenarios(std::vector<std::vector<Cell>> rows) {
  ResultTable table(
      {{"maker", "maker", ""}, {"class", "class", ""}, {"speedup", "speedup", ""}, {"ideal", "ideal", ""}});
  for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
  return table;
}

const std::string a = "a", b = "b", x = "x", y = "y";

Cell whole(std::int64_t number) { return number; }

constexpr auto by_maker = R"yaml(summaries:
  - key: by_maker
    by: [maker]
    columns:
      - {key: speedup, of: speedup, fold: mean, within: class}
      - {key: published_speedup}
      - {key: fraction, of: speedup - 1, per: ideal - 1, fold: mean, within: class, then: 100 * fold}
      - {key: highest, of: speedup, fold: max}
      - {key: of_y, of: speedup, where: class = y, fold: mean}
      - {key: published_of_y}
      - {key: published_of_y_to}
      - {key: gains, of: speedup, fold: max, words: [less, as much, more], bounds: [1 / 1.2, 1.2]}
    source: nobody
    published: [{maker: a, published_speedup: 1.2}, {maker: b, published_of_y: 1 + 0.5 * (speedup - 1), published_of_y_to: 3}]
    charts: [{id: speedups, title: Speedups, axis: speedup, bars: [speedup, of_y], where: maker != c}]
)yaml";

// The other figures of the row and the other rows are answered as if it were not there.
TEST(TableSummaries, HaveTheReasonOfAFigureThatCannotBeComputedInItsPlace) {
  constexpr auto by_class = R"yaml(summaries:
  - key: by_class
    by: [class]
    columns:
      - {key: least, of: speedup, fold: min}
      - {key: share, of: speedup, per: ideal - 2, fold: mean}
)yaml";
  const ResultTable table = scenarios({{a, x, 1.6, 2.0}, {a, y, 1.5, 3.0}});
  const NamedTable summary = tables_of(by_class, table).at(0);
  EXPECT_EQ(summary.table.rows().at(0).at(1), Cell(1.6));
  EXPECT_TRUE(std::holds_alternative<NoNumber>(summary.table.rows().at(0).at(2)));
  EXPECT_EQ(summary.table.rows().at(1).at(2), Cell(1.5));
}

// Of a, class x has speedups of 1.6 and 1, mean 1.3, and class y 1.5: the mean over classes is 1.4, where that over
// scenarios would be 4.1 / 3. The ideals are 2 and 1.5, 1.75 over classes, and the fraction is 0.4 / 0.75. Half the
// gain of b, 1.1, is published to be 1.05; it lies between 1 / 1.2 and 1.2, and nothing of b is of class y.
TEST(TableSummaries, AverageWithinGroupsFirstAndStandBesidePublishedFigures) {
  const ResultTable table = scenarios({{a, x, 1.6, 2.0}, {a, x, 1.0, 2.0}, {b, x, 1.1, 2.0}, {a, y, 1.5, 1.5}});
  const NamedTable summary = tables_of(by_maker, table).at(0);
  const std::vector<Cell>& of_a = summary.table.rows().at(0);
  EXPECT_EQ(of_a[0], Cell(a));
  EXPECT_NEAR(std::get<double>(of_a[1]), 1.4, 1e-12);
  EXPECT_EQ(of_a[2], Cell(1.2));
  EXPECT_NEAR(std::get<double>(of_a[3]), 40.0 / 0.75, 1e-9);
  EXPECT_EQ(of_a[4], Cell(1.6));
  EXPECT_EQ(of_a[5], Cell(1.5));
  EXPECT_EQ(of_a[6], Cell());
  EXPECT_EQ(of_a[8], Cell(std::string("more")));
  const std::vector<Cell>& of_b = summary.table.rows().at(1);
  EXPECT_EQ(of_b[2], Cell());
  EXPECT_EQ(of_b[5], Cell());
  EXPECT_EQ(of_b[6], Cell(1.05));
  EXPECT_EQ(of_b[8], Cell(std::string("as much")));
  const auto& chart = std::get<BarChart>(summary.charts.at(0));
  EXPECT_EQ(chart.series, (std::vector<std::string>{"speedup", "of y"}));
  ASSERT_EQ(chart.bars.size(), 2u);
  EXPECT_EQ(chart.bars[0].label, "a");
  EXPECT_EQ(chart.bars[0].published[0], (Published{1.2, 1.2}));
  EXPECT_FALSE(chart.bars[0].published[1].has_value());
  EXPECT_FALSE(chart.bars[1].values[1].has_value());
  EXPECT_EQ(chart.bars[1].published[1], (Published{1.05, 3.0}));
}

TEST(TableSummaries, TellOfWhichRowsFiguresArePublishedInVain) {
  const ResultTable table = scenarios({{a, x, 1.6, 2.0}});
  const std::vector<TableSummary> summaries = summaries_of(by_maker, table);
  EXPECT_THAT(published_of_no_row(summaries, summarized(summaries, table)),
              ElementsAre("What is published of maker b is not shown: the summary by_maker has no such row."));
}

// By class, the best of a row's own scenarios are 3 of x and 4 of y; nothing is published of a row of nothing.
TEST(TableSummaries, RowsMayHaveFiguresOfTheirOwn) {
  const NamedTable summary = tables_of(R"(summaries:
  - key: metrics
    by: [metric]
    rows:
      - {metric: best, of: speedup, fold: max, published: 5}
      - {metric: gain of b, of: speedup, where: maker = b, fold: max, then: fold - 1, published: 6}
      - {metric: none, of: speedup, where: maker = c, fold: max, published: 7}
    columns: [{key: published}, {key: low, row: least, by: class}, {key: high, row: greatest, by: class}]
    source: nobody
)",
                                       scenarios({{a, x, 3.0, 4.0}, {b, x, 2.0, 4.0}, {b, y, 4.0, 4.0}}))
                                 .at(0);
  EXPECT_THAT(summary.table.rows(),
              ElementsAre(std::vector<Cell>{std::string("best"), whole(5), whole(3), whole(4)},
                          std::vector<Cell>{std::string("gain of b"), whole(6), whole(1), whole(3)},
                          std::vector<Cell>{std::string("none"), Cell(), Cell(), Cell()}));
}

TEST(TableSummaries, AreOfEarlierOnesAndOfNamedRows) {
  const std::vector<NamedTable> tables = tables_of(R"(summaries:
  - {key: each, by: [maker, class], in_text: false, columns: [{key: best, of: speedup, fold: max}]}
  - key: groups
    of: each
    by: [group]
    rows: [{group: all}, {group: only x, where: class = x}, {group: none, where: maker = c}]
    columns: [{key: sum, of: best, fold: sum}, {key: rows, of: best, fold: count, otherwise: 0}]
)",
                                                   scenarios({{a, x, 1.0, 2.0}, {a, x, 2.0, 2.0}, {b, y, 3.0, 4.0}}));
  EXPECT_FALSE(tables.at(0).in_text);
  EXPECT_THAT(tables.at(1).table.rows(), ElementsAre(std::vector<Cell>{std::string("all"), whole(5), whole(2)},
                                                     std::vector<Cell>{std::string("only x"), whole(2), whole(1)},
                                                     std::vector<Cell>{std::string("none"), Cell(), whole(0)}));
}

// Of a the mean of 1 and 3 is whole, but that of b's 1 and 2 is not; 1e300 is more than a whole number can be.
TEST(TableSummaries, HaveWholeNumbersInColumnsWithoutFractions) {
  const NamedTable summary =
      tables_of(R"(summaries:
  - key: by_maker
    by: [maker]
    columns:
      - {key: rows, of: speedup, fold: count}
      - {key: sum, of: speedup, fold: sum}
      - {key: mean, of: speedup, fold: mean}
      - {key: huge, of: ideal, fold: max}
)",
                scenarios({{a, x, 1.0, 1e300}, {a, y, 3.0, 1.0}, {b, x, 1.0, 1.0}, {b, y, 2.0, 1.0}}))
          .at(0);
  EXPECT_THAT(summary.table.rows(), ElementsAre(std::vector<Cell>{a, whole(2), whole(4), 2.0, 1e300},
                                                std::vector<Cell>{b, whole(2), whole(3), 1.5, 1.0}));
}

// A summary does not depend on the order of the rows but for that of its own, and a mean of all lies between the least
// and the greatest of its groups. Speedups are eighths, whose sums are exact.
RC_GTEST_PROP(TableSummariesProperty, DoNotDependOnTheOrderOfRows, ()) {
  const auto drawn = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 3), rc::gen::inRange(0, 3), rc::gen::inRange(9, 80)));
  std::vector<std::vector<Cell>> rows;
  for (const auto& [maker, of_class, eighths] : drawn) {
    rows.push_back({std::string(1, static_cast<char>('a' + maker)), std::string(1, static_cast<char>('x' + of_class)),
                    eighths / 8.0, eighths / 4.0});
  }
  const auto sorted = [](const std::vector<std::vector<Cell>>& of) {
    std::vector<std::vector<Cell>> all = tables_of(by_maker, scenarios(of)).at(0).table.rows();
    std::ranges::sort(all, {}, [](const std::vector<Cell>& row) { return word_of(row.front()); });
    return all;
  };
  const std::vector<std::vector<Cell>> once = sorted(rows);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
  const std::vector<std::vector<Cell>> again = sorted(rows);
  RC_ASSERT(once.size() == again.size());
  for (std::size_t r = 0; r < once.size(); ++r) {
    double least = 1e9;
    for (const std::vector<Cell>& row : rows) {
      if (row[0] == once[r][0]) least = std::min(least, std::get<double>(row[2]));
    }
    RC_ASSERT(least <= *number_of(once[r][1]) + 1e-12);
    RC_ASSERT(*number_of(once[r][1]) <= *number_of(once[r][4]) + 1e-12);  // the highest
    for (std::size_t c = 0; c < once[r].size(); ++c) {
      const std::optional<double> one = number_of(once[r][c]);
      if (one) RC_ASSERT(std::abs(*one - *number_of(again[r][c])) < 1e-9);
      if (!one) RC_ASSERT(once[r][c] == again[r][c]);
    }
  }
}

}  // namespace
}  // namespace c3sim::study
