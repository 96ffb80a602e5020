#include "study/report/chart.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/check.h"
#include "study/report/page.h"

namespace c3sim::study {
namespace {

BarChart bars_of(std::vector<std::string> series) {
  BarChart chart{.id = "chart", .title = "title", .value_axis = "axis", .series = std::move(series)};
  chart.bars = {{"label", std::vector<std::optional<double>>(chart.series.size(), 1.0)}};
  return chart;
}

Page page_of(std::vector<Chart> charts, Palette palette = {}) {
  return {.title = "page",
          .sections = {{.id = "section", .heading = "section", .charts = std::move(charts)}},
          .palette = std::move(palette)};
}

nlohmann::ordered_json json_of(const Chart& chart) { return chart_json(chart, colours_of(page_of({chart}))); }

TEST(Chart, ErrorBarsTravelWithTheirPoints) {
  const ScatterChart chart{.id = "chart",
                           .title = "title",
                           .x = {.label = "measured", .unit = "us", .logarithmic = true, .low = 1.0},
                           .y = {.label = "predicted"},
                           .series = {{"rccl", {{1.0, 2.0, "case", 0.9, 1.2, 1.5, 2.5}, {3.0, 4.0, "plain"}}}},
                           .guides = {{"equal", 1.0, 1.0, 9.0, 9.0}}};
  const auto json = json_of(chart);
  EXPECT_EQ(json["series"][0]["points"][0].dump(),
            R"({"x":1.0,"y":2.0,"label":"case","x_low":0.9,"x_high":1.2,"y_low":1.5,"y_high":2.5})");
  EXPECT_EQ(json["series"][0]["points"][1].dump(), R"({"x":3.0,"y":4.0,"label":"plain"})");
  EXPECT_EQ(json["guides"][0].dump(), R"({"name":"equal","from":{"x":1.0,"y":1.0},"to":{"x":9.0,"y":9.0}})");
  EXPECT_EQ(json["joined"], false);
  EXPECT_EQ(json["x"].dump(), R"({"label":"measured","unit":"us","logarithmic":true,"low":1.0,"high":null})");
}

TEST(Chart, LinesBetweenPointsAreAskedFor) {
  ScatterChart chart{.id = "chart", .title = "title", .series = {{"a", {{1.0, 2.0, ""}, {2.0, 3.0, ""}}}}};
  chart.joined = true;
  EXPECT_EQ(json_of(chart)["joined"], true);
}

TEST(Chart, PublishedFiguresTravelWithTheirBars) {
  BarChart chart = bars_of({"c3_base", "conccl"});
  chart.bars[0].published = {Published{0.5, 1.5}, std::nullopt};
  chart.bars.push_back({"other", {2.0, std::nullopt}});
  const auto json = json_of(chart);
  EXPECT_EQ(json["series"][0].dump(), R"({"name":"c3_base","values":[1.0,2.0],"published":[[0.5,1.5],null]})");
  EXPECT_EQ(json["series"][1].dump(), R"({"name":"conccl","values":[1.0,null],"published":[null,null]})");
  EXPECT_EQ(json["labels"].dump(), R"(["label","other"])");
  EXPECT_EQ(json["baseline"], 0.0);
}

TEST(Chart, IntervalsTravelWithTheirBars) {
  BarChart chart = bars_of({"makespan"});
  chart.bars[0].reaches = {Interval{0.9, 1.2}};
  EXPECT_EQ(json_of(chart)["series"][0]["reaches"].dump(), "[[0.9,1.2]]");
  EXPECT_FALSE(json_of(bars_of({"makespan"}))["series"][0].contains("reaches"));
}

TEST(Chart, MarkedPointsSaySo) {
  ScatterChart chart{.id = "chart", .title = "title", .series = {{"a", {{1.0, 2.0, ""}, {2.0, 3.0, ""}}}}};
  chart.series[0].points[1].marked = true;
  EXPECT_FALSE(json_of(chart)["series"][0]["points"][0].contains("marked"));
  EXPECT_EQ(json_of(chart)["series"][0]["points"][1]["marked"], true);
}

// What is stacked in one bar is told apart by its colour alone.
TEST(Chart, EachMechanismHasAColourOfItsOwn) {
  const Colours colours = colours_of(page_of({}, study_palette()));
  std::set<int> used;
  for (const models::Mechanism mechanism : models::all_mechanisms) {
    EXPECT_TRUE(used.insert(colours.at(std::string(to_string(mechanism)))).second) << to_string(mechanism);
  }
}

TEST(Chart, ABarHasAValuePerSeries) {
  BarChart chart = bars_of({"a", "b"});
  chart.bars[0].values.pop_back();
  EXPECT_THROW(json_of(chart), sim::InternalError);
}

TEST(Chart, WhatIsNotFiniteIsLeftOut) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  BarChart bars = bars_of({"a"});
  bars.bars[0].values[0] = -infinity;
  EXPECT_EQ(json_of(bars)["series"][0]["values"].dump(), "[null]");
  const ScatterChart points{.id = "chart",
                            .title = "title",
                            .x = {.label = "x"},
                            .y = {.label = "y"},
                            .series = {{"a", {{0.0, infinity}, {1.0, 2.0, "", infinity}}}}};
  EXPECT_EQ(json_of(points)["series"][0]["points"].dump(), R"([{"x":1.0,"y":2.0,"label":""}])");
}

// The ends of a band belong to it.
TEST(Chart, AClaimHoldsFromTheLowestToTheHighest) {
  BandChart chart{.id = "chart", .title = "title", .rows = {}};
  for (const double predicted : {0.9, 1.0, 2.0, 2.1}) chart.rows.push_back({"claim", 1.0, 2.0, {}, predicted, ""});
  const auto json = json_of(chart);
  EXPECT_EQ(json["rows"][0]["holds"], false);
  EXPECT_EQ(json["rows"][1]["holds"], true);
  EXPECT_EQ(json["rows"][2]["holds"], true);
  EXPECT_EQ(json["rows"][3]["holds"], false);
}

TEST(Chart, ATimelineHasItsBarsByRow) {
  const TimelineChart chart{.id = "chart",
                            .title = "title",
                            .series = {"GEMM", "RCCL"},
                            .rows = {{"compute", {{0.0, 1.5, 0, "a", "gemm"}}}, {"idle", {}}}};
  const auto json = json_of(chart);
  EXPECT_EQ(json["kind"], "timeline");
  EXPECT_EQ(json["rows"].dump(), R"([{"name":"compute","bars":[[0.0,1.5,0,"a","gemm"]]},{"name":"idle","bars":[]}])");
  EXPECT_EQ(json["colours"].size(), 2U);
}

TEST(Palette, ASeriesHasTheSameColourInEveryChart) {
  const Page page = page_of({bars_of({"c3_base", "c3_sp"}), bars_of({"conccl", "c3_sp"})});
  const Colours colours = colours_of(page);
  const auto json = page_json(page);
  const auto& charts = json["sections"][0]["charts"];
  EXPECT_EQ(charts[0]["colours"][1], colours.at("c3_sp"));
  EXPECT_EQ(charts[1]["colours"][1], colours.at("c3_sp"));
  EXPECT_NE(colours.at("conccl"), colours.at("c3_sp"));
  EXPECT_NE(colours.at("conccl"), colours.at("c3_base"));
}

// Twelve colours, of which the first chart takes nine: the second takes the other three before any of these again, and
// never one twice.
TEST(Palette, TheSeriesOfAChartDiffer) {
  const std::vector<std::string> earlier{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  const std::vector<std::string> later{"a", "p", "q", "r", "s", "t", "u", "v"};
  const Colours colours = colours_of(page_of({bars_of(earlier), bars_of(later)}));
  std::set<int> second;
  for (const std::string& name : later) second.insert(colours.at(name));
  EXPECT_EQ(second.size(), 8U);
  std::set<int> all;
  for (const std::string& name : earlier) all.insert(colours.at(name));
  for (const char* const name : {"p", "q", "r"}) all.insert(colours.at(name));
  EXPECT_EQ(all.size(), 12U);
}

TEST(Palette, BarsOfOneSeriesHaveTheColoursOfTheirNames) {
  BarChart fractions = bars_of({"predicted"});
  fractions.bars = {{"c3_base", {1.0}}, {"conccl", {2.0}}};
  const Page page = page_of({fractions, bars_of({"conccl", "c3_base"})});
  const auto json = page_json(page);
  const auto& charts = json["sections"][0]["charts"];
  EXPECT_EQ(charts[0]["colours"][0], charts[1]["colours"][1]);
  EXPECT_EQ(charts[0]["colours"][1], charts[1]["colours"][0]);
}

TEST(Palette, FixesColoursWhateverThePageShows) {
  const Colours colours =
      colours_of(page_of({bars_of({"new", "conccl", "ideal"})}, {{{"c3_base", "conccl"}}, {"ideal"}}));
  EXPECT_EQ(colours.at("conccl"), 1);
  EXPECT_EQ(colours.at("ideal"), grey);
  EXPECT_EQ(colours.at("new"), 0);
}

}  // namespace
}  // namespace c3sim::study
