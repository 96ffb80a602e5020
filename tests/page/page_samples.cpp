// Writes pages for the test in a browser (page_test.py): page_samples DIR leaves charts.html, table.html and
// hostile.html in DIR.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "sim/config/output_file.h"
#include "study/report/page.h"
#include "tests/page/hostile_page.h"

namespace c3sim::study {
namespace {

BarChart bar_chart() {
  return {.id = "fractions",
          .title = "Fraction of ideal by strategy",
          .value_axis = "fraction of ideal speedup [%]",
          .series = {"predicted"},
          .bars = {{"c3_base", {23.0}, {Published{21.0, 21.0}}},
                   {"c3_sp", {45.0}, {Published{42.0, 42.0}}},
                   {"c3_best", {48.0}, {Published{44.0, 51.0}}},
                   {"heuristic", {44.0}, {std::nullopt}},
                   {"conccl", {68.0}, {Published{72.0, 72.0}}}},
          .caption = "A caption says what a reader should know."};
}

// A speedup of exactly 1 stays visible though bars grow from there.
BarChart speedup_chart() {
  return {.id = "speedups",
          .title = "Speedup by class",
          .value_axis = "speedup",
          .series = {"c3_base", "c3_sp", "conccl", "ideal"},
          .bars = {{"all_gather G-long", {1.0, 1.17, 1.22, 1.31}, {Published{1.0, 1.04}, {}, {}, {}}},
                   {"all_gather C-long", {1.28, 1.45, 1.61, 1.71}, {Published{1.17, 1.33}, {}, {}, {}}},
                   {"all_to_all C-long", {0.97, 1.3, {}, 1.71}, {}}},
          .baseline = 1.0,
          .decimals = 2,
          .levels = {{"what was asked for", 1.5}}};
}

BarChart stacked_chart() {
  BarChart chart{.id = "parts",
                 .title = "Slowdown by mechanism",
                 .value_axis = "slowdown over the operation alone [%]",
                 .layout = BarChart::Layout::stacked,
                 .series = {"cu_loss", "dispatch_wait", "clock", "rest"}};
  for (int i = 0; i < 14; ++i) {
    chart.bars.push_back(
        {fmt::format("run {} with a longer name collective", i), {6.5, i % 3 * 20.0 - 10.0, 9.8, 0.5}});
  }
  return chart;
}

ScatterChart scatter_chart() {
  ScatterChart chart{.id = "errors",
                     .title = "Predicted against measured time",
                     .x = {.label = "measured", .unit = "us", .logarithmic = true, .low = 1.0, .high = 1e4},
                     .y = {.label = "predicted", .unit = "us", .logarithmic = true, .low = 1.0, .high = 1e4},
                     .series = {{"all_gather", {}}, {"all_to_all", {}}, {"copy", {}}, {"GEMM", {}}},
                     .guides = {{"predicted as measured", 1.0, 1.0, 1e4, 1e4}}};
  for (int i = 0; i < 48; ++i) {
    const double x = std::pow(10.0, 0.2 + 0.07 * i);
    const double y = x * (1.0 + 0.25 * std::sin(i));
    chart.series[static_cast<std::size_t>(i % 4)].points.push_back(
        {x, y, fmt::format("case {}", i), x * 0.9, x * 1.15, i % 4 == 0 ? std::optional(y * 0.8) : std::nullopt});
  }
  return chart;
}

ScatterChart linear_chart() {
  ScatterChart chart{.id = "residuals",
                     .title = "Error by size",
                     .x = {.label = "size", .unit = "MiB"},
                     .y = {.label = "error", .unit = "%"},
                     .series = {{"rccl", {}}, {"sdma", {}}},
                     .guides = {{"no error", 0.0, 0.0, 100.0, 0.0}},
                     .toggles = false};
  for (int i = 0; i <= 20; ++i) {
    chart.series[0].points.push_back({5.0 * i, 8.0 * std::cos(i)});
    chart.series[1].points.push_back({5.0 * i, 4.0 * std::sin(2 * i) - 3.0});
  }
  return chart;
}

// Two of three curves coincide.
ScatterChart curves_chart() {
  ScatterChart chart{.id = "curves",
                     .title = "Time by size",
                     .x = {.label = "size", .unit = "B", .logarithmic = true},
                     .y = {.label = "time", .unit = "us"},
                     .series = {{"all_gather", {}}, {"all_to_all", {}}, {"all_reduce", {}}},
                     .joined = true};
  for (double bytes = 65536.0; bytes < 2e9; bytes *= 4.0) {
    const double time = bytes / 4e2;
    for (std::size_t i = 0; i < 3; ++i) chart.series[i].points.push_back({bytes, i == 2 ? 2.0 * time : time});
  }
  chart.legend = "collective";
  chart.series[2].points.front().marked = true;
  chart.marks = "best of its case";
  return chart;
}

// One row lies far below 0, and its bar reaches further.
ScatterChart lone_chart() {
  return {.id = "lone",
          .title = "Error of one row",
          .x = {.label = "size", .unit = "B", .logarithmic = true},
          .y = {.label = "error", .unit = "%"},
          .series = {{"time", {{1048576.0, -16.0, "row", {}, {}, -18.5, -13.5}}}},
          .guides = {{"no error", 1048576.0, 0.0, 1048576.0, 0.0}}};
}

// A stream of 800 operations runs beside a stream of a few.
TimelineChart timeline_chart() {
  TimelineChart chart{.id = "streams",
                      .title = "Streams over time",
                      .series = {"GEMM", "RCCL", "copy engines"},
                      .rows = {{"compute", {}}, {"copies, GPU 0 1", {}}},
                      .caption = "What ran when."};
  for (int i = 0; i < 800; ++i) {
    chart.rows[0].bars.push_back(
        {10.0 * i, 10.0 * i + 9.0, static_cast<std::size_t>(i % 2), fmt::format("step {}", i), "gemm 64x64x64"});
  }
  for (int i = 0; i < 4; ++i)
    chart.rows[1].bars.push_back({2000.0 * i, 2000.0 * i + 1500.0, 2, fmt::format("copy {}", i)});
  return chart;
}

ResultTable big_table(std::int64_t rows) {
  constexpr std::array strategies{"serial", "c3_base", "c3_sp", "conccl"};
  std::vector<Column> columns{{"case", "case", ""}, {"strategy", "strategy", ""}, {"bytes", "size", "B"}};
  for (int c = 0; c < 12; ++c) columns.push_back({fmt::format("time{}_us", c), fmt::format("time {}", c), "us", 3});
  columns.push_back({"command", "command", ""});
  ResultTable table(std::move(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::string strategy = strategies[static_cast<std::size_t>(i * 7 % 4)];
    std::vector<Cell> row{fmt::format("case{}", i), strategy, i * 7919 % rows * 1024};
    for (int c = 0; c < 12; ++c)
      row.emplace_back(std::fmod(static_cast<double>(i * (c + 3)) * 0.6180339887, 1.0) * 1e4);
    if (i % 10 == 0) row[4] = Cell();
    row.emplace_back(fmt::format("c3sim c3 --gemm 8192x8192x8192 --bytes {}MiB --strategy {}", i, strategy));
    table.add_row(std::move(row));
  }
  return table;
}

NamedTable section(const std::string& key, const std::string& title, std::vector<Chart> charts) {
  ResultTable table({{"charts", "charts", ""}});
  table.add_row({static_cast<std::int64_t>(charts.size())});
  return {.key = key, .title = title, .table = std::move(table), .charts = std::move(charts)};
}

Results charts_page() {
  return {.tables = {section("bars", "Bars", {bar_chart(), speedup_chart(), stacked_chart()}),
                     section("points", "Points", {scatter_chart(), linear_chart()}),
                     section("axes", "Curves and axes", {curves_chart(), lone_chart()}),
                     section("timelines", "Timelines", {timeline_chart()})},
          .title = "Charts of every kind",
          .notes = {"Bars and points as they are drawn."}};
}

Results table_page() {
  return {.tables = {{.key = "cases", .title = "Every case", .table = big_table(2000)}}, .title = "A long table"};
}

}  // namespace
}  // namespace c3sim::study

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: page_samples DIR\n";
    return 2;
  }
  using namespace c3sim::study;
  const std::string hostile =
      "</script><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"
      "&lt;b&gt;<!--\u2028\u2029{{data}}\"'`\\";
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const auto& [name, answer] : {std::pair{"charts.html", charts_page()}, std::pair{"table.html", table_page()},
                                     std::pair{"hostile.html", answer_of_text(hostile)}}) {
    c3sim::sim::write_file(folder / name, to_html(answer));
  }
}
