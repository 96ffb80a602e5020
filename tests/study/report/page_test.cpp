#include "study/report/page.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/check.h"
#include "study/report/page_parts.h"
#include "tests/page/hostile_page.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Returns the text of the page's data element.
std::string data_text(const std::string& html) {
  const std::string open = "id=\"page-data\">";
  const std::size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

ResultTable two_columns(std::vector<std::vector<Cell>> rows) {
  ResultTable table({{"name", "name", ""}, {"time_us", "time", "us"}});
  for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
  return table;
}

// A text of the data never becomes markup, ends the script that holds it or is taken for a placeholder. Reading the
// data gives the same text back.
TEST(Page, TextFromDataIsNeverMarkup) {
  const std::string hostile =
      "</script><script>alert(1)</script><!--&amp;<img src=x onerror=alert(1)>\"'\u2028\u2029{{style}}";
  const std::string html = to_html(answer_of_text(hostile));
  const std::string harmless = to_html(answer_of_text("text"));
  EXPECT_EQ(count(html, "<"), count(harmless, "<"));
  EXPECT_EQ(count(html, "<script"), count(harmless, "<script"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  const std::string data = data_text(html);
  EXPECT_THAT(data, HasSubstr("{{style}}"));
  EXPECT_THAT(data, Not(HasSubstr("\u2028")));
  EXPECT_THAT(data, Not(HasSubstr("\u2029")));
  EXPECT_EQ(data.find_first_of("<>&\n"), std::string::npos);
  const auto json = nlohmann::json::parse(data);
  EXPECT_EQ(json["title"], hostile);
  EXPECT_EQ(json["sections"][0]["charts"][1]["series"][0]["points"][0]["label"], hostile);
  EXPECT_EQ(json["sections"][0]["table"]["rows"][0][0], hostile);
}

TEST(Page, HasTheSameBytesEachTimeAndIsOneOfBytesThatAreNoUtf8Too) {
  EXPECT_EQ(to_html(answer_of_text("text")), to_html(answer_of_text("text")));
  EXPECT_TRUE(nlohmann::json::accept(data_text(to_html(answer_of_text("\xff\xc3")))));
}

// The page may load nothing, and it names every script and style that it contains by its hash: 256 bits are 42 digits
// of base64 and two thirds of one, then padding. The browser checks that the hashes are right.
TEST(Page, OnlyItsOwnScriptsRunWithTheirLicence) {
  const std::string html = to_html(answer_of_text("text"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, HasSubstr(page_style().hash));
  EXPECT_THAT(html, HasSubstr("<style>" + std::string(page_style().text) + "</style>"));
  for (const PagePart& script : page_scripts()) {
    EXPECT_THAT(html, HasSubstr("'" + script.hash + "'"));
    EXPECT_EQ(script.hash.size(), std::string("sha256-").size() + 44);
    EXPECT_THAT(script.hash, EndsWith("="));
    EXPECT_THAT(html, HasSubstr("<script>" + std::string(script.text) + "</script>"));
  }
  EXPECT_EQ(count(html, "'sha256-"), page_scripts().size() + 1);
  EXPECT_EQ(count(html, "unsafe-inline"), 0U);
  EXPECT_THAT(html, HasSubstr("Chart.js Contributors")) << "the plotting library comes with its licence";
  EXPECT_THAT(html, HasSubstr("The above copyright notice and this permission notice shall be included"));
}

// The scripts contain nothing that would end them early and none of the ways to turn text into markup or code.
TEST(Page, ItsScriptsTakeNoTextForMarkup) {
  const std::vector<PagePart> scripts = page_scripts();
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    EXPECT_THAT(scripts[i].text, Not(HasSubstr("</script")));
    EXPECT_THAT(scripts[i].text, Not(HasSubstr("<!--")));
    if (i == 0) continue;  // The first script is Chart.js.
    for (const char* const danger : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                     "fetch(", "XMLHttpRequest", "http:", "https:"}) {
      EXPECT_THAT(scripts[i].text, Not(HasSubstr(danger)));
    }
  }
}

// Chart.js has 200 kB. A cell of three decimals has at most 9 characters and a comma: 5,000 rows of 16 are below 1 MB.
TEST(Page, FiveThousandRowsStayBelowThreeMegabytes) {
  std::vector<Column> columns;
  for (int c = 0; c < 16; ++c) columns.push_back({fmt::format("time{}_us", c), "time", "us", 3});
  ResultTable table(std::move(columns));
  for (int r = 0; r < 5000; ++r) {
    std::vector<Cell> row;
    for (int c = 0; c < 16; ++c) row.emplace_back(static_cast<double>(r * 16 + c) / 7.0);
    table.add_row(std::move(row));
  }
  EXPECT_LT(to_html({.tables = {{.key = "", .title = "", .table = std::move(table)}}}).size(), 3'000'000U);
}

// The double nearest to 1.005 lies below 1.005, so that two decimals make 1.0 of it.
TEST(PageTable, CellsHaveTheDecimalsOfTheirColumnAndCountsNone) {
  const auto json = table_json(
      {.key = "t",
       .title = "",
       .table = two_columns(
           {{std::string("a"), 1.005}, {std::string("b"), 2.0 / 3.0}, {std::string("c"), -0.001}, {true, Cell()}})});
  EXPECT_EQ(json["rows"].dump(), R"([["a",1.0],["b",0.67],["c",0.0],["yes",null]])");
  EXPECT_EQ(json["columns"][0]["numeric"], false);
  EXPECT_EQ(json["columns"][1]["numeric"], true);
  EXPECT_EQ(json["columns"][1]["decimals"], 2);
  const auto counts =
      table_json({.key = "t", .title = "", .table = two_columns({{std::string("a"), std::int64_t{3}}})});
  EXPECT_EQ(counts["columns"][1]["decimals"], 0);
}

// A number of JavaScript holds integers of 53 bits, and JSON has no infinity.
TEST(PageTable, NumbersThatAScriptCannotHoldAreText) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  const auto json =
      table_json({.key = "t",
                  .title = "",
                  .table = two_columns({{large, std::numeric_limits<double>::infinity()}, {large - 1, 1.0}})});
  EXPECT_EQ(json["rows"].dump(), R"([["9007199254740993","inf"],[9007199254740992,1.0]])");
}

TEST(PageTable, ColumnsForProgramsAreShownOnlyWhereAskedForAndCommandsAreMarked) {
  ResultTable table({{"strategy", "strategy", ""}, {"command", "how", ""}, {"b", "b", "", 2, false}});
  table.add_row({std::string("x"), std::string("c"), std::string("y")});
  NamedTable named{.key = "t", .title = "", .table = table};
  const auto json = table_json(named);
  EXPECT_EQ(json["rows"].dump(), R"([["x","c"]])");
  EXPECT_EQ(json["columns"][0]["command"], false);
  EXPECT_EQ(json["columns"][1]["command"], true);
  named.in_text = false;
  EXPECT_EQ(table_json(named)["rows"].dump(), R"([["x","c","y"]])");
  named.on_page = {"b", "strategy"};
  EXPECT_EQ(table_json(named)["rows"].dump(), R"([["y","x"]])");
}

// The tests below check charts and their colours.

BarChart bars_of(std::vector<std::string> series) {
  BarChart chart{.id = "chart", .title = "title", .value_axis = "axis", .series = std::move(series)};
  chart.bars = {{"label", std::vector<std::optional<double>>(chart.series.size(), 1.0)}};
  return chart;
}

Results answer_of(std::vector<Chart> charts) { return {.title = "title", .charts = std::move(charts)}; }

nlohmann::ordered_json json_of(const Chart& chart) { return chart_json(chart, colours_of(answer_of({chart}))); }

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

TEST(Chart, LinesBetweenPointsAndMarkedPointsAreAskedFor) {
  ScatterChart chart{.id = "chart", .title = "title", .series = {{"a", {{1.0, 2.0, ""}, {2.0, 3.0, ""}}}}};
  chart.joined = true;
  chart.series[0].points[1].marked = true;
  const auto json = json_of(chart);
  EXPECT_EQ(json["joined"], true);
  EXPECT_FALSE(json["series"][0]["points"][0].contains("marked"));
  EXPECT_EQ(json["series"][0]["points"][1]["marked"], true);
}

TEST(Chart, PublishedFiguresAndIntervalsTravelWithTheirBars) {
  BarChart chart = bars_of({"c3_base", "conccl"});
  chart.bars[0].published = {Published{0.5, 1.5}, std::nullopt};
  chart.bars.push_back({"other", {2.0, std::nullopt}});
  const auto json = json_of(chart);
  EXPECT_EQ(json["series"][0].dump(), R"({"name":"c3_base","values":[1.0,2.0],"published":[[0.5,1.5],null]})");
  EXPECT_EQ(json["series"][1].dump(), R"({"name":"conccl","values":[1.0,null],"published":[null,null]})");
  EXPECT_EQ(json["labels"].dump(), R"(["label","other"])");
  EXPECT_EQ(json["baseline"], 0.0);
  BarChart intervals = bars_of({"makespan"});
  EXPECT_FALSE(json_of(intervals)["series"][0].contains("reaches"));
  intervals.bars[0].reaches = {Interval{0.9, 1.2}};
  EXPECT_EQ(json_of(intervals)["series"][0]["reaches"].dump(), "[[0.9,1.2]]");
}

// Mechanisms are stacked in one bar, so that only the colour tells one from another.
TEST(Chart, EachMechanismHasAColourOfItsOwn) {
  const Colours colours = colours_of(answer_of({}));
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

TEST(Palette, ASeriesHasTheSameColourInEveryChartAsHaveBarsThatAreNamedSo) {
  BarChart fractions = bars_of({"predicted"});
  fractions.bars = {{"c3_base", {1.0}}, {"conccl", {2.0}}};
  const Results answer = answer_of({bars_of({"c3_base", "c3_sp"}), bars_of({"conccl", "c3_sp"}), fractions});
  const Colours colours = colours_of(answer);
  std::vector<std::vector<int>> by_chart;
  const auto json = page_json(answer);
  for (const auto& chart : json["sections"][0]["charts"]) by_chart.push_back(chart["colours"]);
  const int base = colours.at("c3_base"), sp = colours.at("c3_sp"), conccl = colours.at("conccl");
  EXPECT_THAT(by_chart, ElementsAre(ElementsAre(base, sp), ElementsAre(conccl, sp), ElementsAre(base, conccl)));
  EXPECT_EQ((std::set{base, sp, conccl}).size(), 3U);
}

// The palette has twelve colours, of which the first chart takes nine. The second chart takes the three others before
// it takes one of the nine again, and gives no colour to two of its series.
TEST(Palette, TheSeriesOfAChartDiffer) {
  const std::vector<std::string> earlier{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  const std::vector<std::string> later{"a", "p", "q", "r", "s", "t", "u", "v"};
  const Colours colours = colours_of(answer_of({bars_of(earlier), bars_of(later)}), {});
  std::set<int> second;
  for (const std::string& name : later) second.insert(colours.at(name));
  EXPECT_EQ(second.size(), 8U);
  std::set<int> all;
  for (const std::string& name : earlier) all.insert(colours.at(name));
  for (const char* const name : {"p", "q", "r"}) all.insert(colours.at(name));
  EXPECT_EQ(all.size(), 12U);
}

TEST(Palette, FixesColoursWhateverThePageShows) {
  const Colours colours =
      colours_of(answer_of({bars_of({"new", "conccl", "ideal"})}), {{{"c3_base", "conccl"}}, {"ideal"}});
  EXPECT_EQ(colours.at("conccl"), 1);
  EXPECT_EQ(colours.at("ideal"), grey);
  EXPECT_EQ(colours.at("new"), 0);
}

}  // namespace
}  // namespace c3sim::study
