#include "study/report/results_page.h"

#include <gtest/gtest.h>

namespace c3sim::study {
namespace {

NamedTable table_of(const std::string& key, const std::string& title, int rows, bool in_text = true) {
  ResultTable table({{"strategy", "strategy", ""}, {"time_us", "time", "us"}, {"bytes", "bytes", "", 2, false}});
  for (int i = 0; i < rows; ++i)
    table.add_row({std::string(i % 2 == 0 ? "serial" : "conccl"), 1.0 * i, std::int64_t{i}});
  return {key, title, std::move(table), in_text};
}

TEST(ResultsPage, HasASectionPerTableThoseToBeReadFirst) {
  const Results results{"mi300x", {table_of("results", "", 2, false), table_of("summary", "Summary", 2)}, {}, {}};
  const Page page = results_page(results);
  EXPECT_EQ(page.title, "Predicted for mi300x");
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].id, "summary");
  EXPECT_EQ(page.sections[0].heading, "Summary");
  EXPECT_FALSE(page.sections[0].tables.at(0).every_column);
  EXPECT_EQ(page.sections[1].heading, "Results");
  EXPECT_TRUE(page.sections[1].tables.at(0).every_column);
}

TEST(ResultsPage, SaysNothingTwice) {
  Results results{"mi300x", {table_of("results", "A pair on mi300x", 2)}, {}, {}};
  EXPECT_EQ(results_page(results).title, "A pair on mi300x");
  EXPECT_EQ(results_page(results).sections.at(0).heading, "Results");
  results.title = "A pair";
  results.tables[0].title = "A pair: its times";
  EXPECT_EQ(results_page(results).title, "A pair");
  EXPECT_EQ(results_page(results).sections.at(0).heading, "its times");
}

TEST(ResultsPage, WarnsAtTheTop) {
  const Results results{"mi300x", {table_of("results", "", 2)}, {"beware"}, {}};
  EXPECT_EQ(results_page(results).lead.back(), "Warning: beware");
}

TEST(ResultsPage, LongTablesAreFilteredByTextsThatRecur) {
  const Results results{"mi300x", {table_of("short", "", 20), table_of("long", "", 21)}, {}, {}};
  const Page page = results_page(results);
  EXPECT_FALSE(page.sections[0].tables.at(0).filterable);
  EXPECT_TRUE(page.sections[1].tables.at(0).filterable);
  EXPECT_EQ(page.sections[1].tables.at(0).choices, std::vector<std::string>{"strategy"});
}

TEST(ResultsPage, ShowsTheChartsOfATable) {
  NamedTable table = table_of("results", "", 2);
  table.charts = {BarChart{.id = "chart", .title = "title", .value_axis = "axis"}};
  const Page page = results_page({"mi300x", {table}, {}, {}});
  ASSERT_EQ(page.sections.at(0).charts.size(), 1U);
  EXPECT_EQ(std::get<BarChart>(page.sections[0].charts[0]).id, "chart");
}

TEST(ResultsPage, OpensWithChartsOfTheAnswerAsAWhole) {
  Results results{"mi300x", {table_of("results", "", 2)}, {}, {}};
  results.charts = {TimelineChart{.id = "timeline", .title = "title"}};
  const Page page = results_page(results);
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].heading, "Overview");
  EXPECT_EQ(std::get<TimelineChart>(page.sections[0].charts.at(0)).id, "timeline");
  EXPECT_EQ(page.sections[1].heading, "Results");
}

}  // namespace
}  // namespace c3sim::study
