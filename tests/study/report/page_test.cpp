#include "study/report/page.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "study/report/page_parts.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What stands in the page's element of data.
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

// `text` wherever a page shows text.
Page page_of(const std::string& text) {
  ResultTable table({{"command", text, text}, {"key", text, text}});
  table.add_row({text, text});
  PageTable shown{.id = text, .caption = text, .table = table, .filterable = true, .choices = {"key"}};
  const BarChart bars{.id = text,
                      .title = text,
                      .value_axis = text,
                      .series = {text, text + "2"},
                      .bars = {{text, {1.0, 2.0}, {Published{0.5, 1.5}, {}}}},
                      .levels = {{text, 1.0}},
                      .caption = text};
  const ScatterChart points{.id = text,
                            .title = text,
                            .x = {.label = text, .unit = text},
                            .y = {.label = text, .unit = text},
                            .series = {{text, {{1.0, 1.0, text}}}},
                            .guides = {{text, 0.0, 0.0, 1.0, 1.0}},
                            .caption = text};
  const BandChart bands{.id = text, .title = text, .rows = {{text, 0.0, 1.0, {}, 0.5, text}}, .caption = text};
  return {.title = text,
          .lead = {text},
          .sections = {
              {.id = text, .heading = text, .paragraphs = {text}, .charts = {bars, points, bands}, .tables = {shown}}}};
}

// Nothing of a text is markup, ends the script that holds it, or is taken for a place to fill in; it comes out as it
// went in.
TEST(Page, TextFromDataIsNeverMarkup) {
  const std::string hostile =
      "</script><script>alert(1)</script><!--&amp;<img src=x onerror=alert(1)>\"'\u2028\u2029{{style}}";
  const std::string html = to_html(page_of(hostile));
  const std::string harmless = to_html(page_of("text"));
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
  EXPECT_EQ(json["sections"][0]["tables"][0]["rows"][0][0], hostile);
}

TEST(Page, BytesThatAreNoUtf8StillGiveAPage) {
  EXPECT_TRUE(nlohmann::json::accept(data_text(to_html(page_of("\xff\xc3")))));
}

TEST(Page, TheSamePageGivesTheSameBytes) { EXPECT_EQ(to_html(page_of("text")), to_html(page_of("text"))); }

// Nothing may be loaded, and every script and style that stands in the page is named by its hash.
TEST(Page, OnlyItsOwnScriptsRun) {
  const std::string html = to_html(page_of("text"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, HasSubstr(page_style().hash));
  EXPECT_THAT(html, HasSubstr("<style>" + std::string(page_style().text) + "</style>"));
  for (const PagePart& script : page_scripts()) {
    EXPECT_THAT(html, HasSubstr("'" + script.hash + "'"));
    EXPECT_THAT(html, HasSubstr("<script>" + std::string(script.text) + "</script>"));
  }
  EXPECT_EQ(count(html, "'sha256-"), page_scripts().size() + 1);
  EXPECT_EQ(count(html, "unsafe-inline"), 0U);
}

// 256 bits are 42 digits of base64 and two thirds of one, then padding. That they are right the browser says.
TEST(Page, HashesAreInBase64) {
  for (const PagePart& script : page_scripts()) {
    EXPECT_EQ(script.hash.size(), std::string("sha256-").size() + 44);
    EXPECT_TRUE(script.hash.ends_with("=")) << script.hash;
  }
}

// What would end a script early, and the ways by which a script turns text into markup or code.
TEST(Page, ItsScriptsTakeNoTextForMarkup) {
  const std::vector<PagePart> scripts = page_scripts();
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    EXPECT_THAT(scripts[i].text, Not(HasSubstr("</script")));
    EXPECT_THAT(scripts[i].text, Not(HasSubstr("<!--")));
    if (i == 0) continue;  // Chart.js
    for (const char* const danger : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                     "fetch(", "XMLHttpRequest", "http:", "https:"}) {
      EXPECT_THAT(scripts[i].text, Not(HasSubstr(danger)));
    }
  }
}

TEST(Page, ThePlottingLibraryComesWithItsLicence) {
  const std::string html = to_html(page_of("text"));
  EXPECT_THAT(html, HasSubstr("Chart.js Contributors"));
  EXPECT_THAT(html, HasSubstr("The above copyright notice and this permission notice shall be included"));
}

// Chart.js has 200 kB, a cell of three decimals at most 9 characters and a comma: 5,000 rows of 16 are below 1 MB.
TEST(Page, FiveThousandRowsStayBelowThreeMegabytes) {
  std::vector<Column> columns;
  for (int c = 0; c < 16; ++c) columns.push_back({fmt::format("time{}_us", c), "time", "us", 3});
  ResultTable table(std::move(columns));
  for (int r = 0; r < 5000; ++r) {
    std::vector<Cell> row;
    for (int c = 0; c < 16; ++c) row.emplace_back(static_cast<double>(r * 16 + c) / 7.0);
    table.add_row(std::move(row));
  }
  const Page page{.title = "",
                  .sections = {{.id = "", .heading = "", .tables = {{.id = "", .table = std::move(table)}}}}};
  EXPECT_LT(to_html(page).size(), 3'000'000U);
}

// As a double, 1.005 lies below 1.005.
TEST(PageTable, CellsHaveTheDecimalsOfTheirColumn) {
  const auto json = table_json(
      {.id = "t",
       .table = two_columns(
           {{std::string("a"), 1.005}, {std::string("b"), 2.0 / 3.0}, {std::string("c"), -0.001}, {true, Cell()}})});
  EXPECT_EQ(json["rows"].dump(), R"([["a",1.0],["b",0.67],["c",0.0],["yes",null]])");
  EXPECT_EQ(json["columns"][0]["numeric"], false);
  EXPECT_EQ(json["columns"][1]["numeric"], true);
  EXPECT_EQ(json["columns"][1]["decimals"], 2);
}

// A script's numbers hold 53 bits. Infinity is no JSON.
TEST(PageTable, NumbersThatAScriptCannotHoldAreText) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  const auto json = table_json(
      {.id = "t", .table = two_columns({{large, std::numeric_limits<double>::infinity()}, {large - 1, 1.0}})});
  EXPECT_EQ(json["rows"].dump(), R"([["9007199254740993","inf"],[9007199254740992,1.0]])");
}

TEST(PageTable, CountsHaveNoDecimals) {
  const auto json = table_json({.id = "t", .table = two_columns({{std::string("a"), std::int64_t{3}}})});
  EXPECT_EQ(json["columns"][1]["decimals"], 0);
}

TEST(PageTable, ColumnsForProgramsAreShownOnlyWhereAskedFor) {
  ResultTable table({{"a", "a", ""}, {"b", "b", "", 2, false}});
  table.add_row({std::string("x"), std::string("y")});
  EXPECT_EQ(table_json({.id = "t", .table = table})["rows"].dump(), R"([["x"]])");
  EXPECT_EQ(table_json({.id = "t", .table = table, .every_column = true})["rows"].dump(), R"([["x","y"]])");
}

TEST(PageTable, CommandsAndChoicesAreMarked) {
  ResultTable table({{"strategy", "strategy", ""}, {"command", "how", ""}});
  const auto columns = table_json({.id = "t", .table = table, .choices = {"strategy"}})["columns"];
  EXPECT_EQ(columns[0]["choice"], true);
  EXPECT_EQ(columns[0]["command"], false);
  EXPECT_EQ(columns[1]["choice"], false);
  EXPECT_EQ(columns[1]["command"], true);
}

}  // namespace
}  // namespace c3sim::study
