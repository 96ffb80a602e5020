#include "study/report/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/check.h"
#include "sim/config/config.h"
#include "study/report/page.h"
#include "study/report/results_folder.h"
#include "study/report/statistics.h"
#include "study/report/table_figure.h"
#include "tests/config_fault.h"
#include "tests/samples.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

ResultTable example_table() {
  ResultTable table({{"name", "name", ""}, {"time_us", "time", "us", 1}, {"bytes", "size", "B", 2, false}});
  table.add_row({std::string("a"), 12.25, std::int64_t{1024}});
  table.add_row({std::string("long one"), Cell(), std::int64_t{9007199254740991}});
  return table;
}

std::string text_of(const ResultTable& table, std::size_t width = 0) {
  std::ostringstream out;
  table.write_text(out, width);
  return out.str();
}

std::string csv_of(const ResultTable& table) {
  std::ostringstream out;
  table.write_csv(out);
  return out.str();
}

TEST(ResultTable, TextHasUnitsInTheHeadingNumbersToTheRightAndNoTrailingBlanks) {
  // The widest cell of the first column is "long one", of the second the heading "time [us]"; 12.25 with one decimal
  // rounds to even. The text leaves out the third column, which is for programs.
  EXPECT_EQ(text_of(example_table()),
            "name      time [us]\n"
            "a              12.2\n"
            "long one\n");
}

// Of 34 columns the name takes 8 and stays whole, the number and its heading 8 and the blanks 4: 14 are left.
TEST(ResultTable, TextIsWrappedToAWidth) {
  ResultTable table({{"name", "name", ""}, {"text", "text", ""}, {"n", "a number", ""}});
  table.add_row({std::string("gpu.xcds"), std::string("a long text made of words"), 1.0});
  EXPECT_EQ(text_of(table, 34),
            "name      text            a number\n"
            "gpu.xcds  a long text         1.00\n"
            "          made of words\n");
  table.add_row({std::string("row"), std::string("of an unbreakable-word"), 2.0});
  EXPECT_NE(text_of(table, 20).find("unbreakable-word"), std::string::npos) << "a word is broken";
  table.add_row({std::string("row"), std::string("1476.52 to 2092.92"), 3.0});
  EXPECT_NE(text_of(table, 20).find("2092.92"), std::string::npos) << "a number is broken at its point";
}

// Name and first number take 14 columns, and name and second number 13: they do not fit side by side into 15. The kind,
// which is the same in all rows, does not come again, and neither does the name of a single row.
TEST(ResultTable, TextThatIsTooWideGoesOnBelowBehindWhatTellsItsRowsApart) {
  ResultTable table({{"kind", "kind", ""}, {"name", "name", ""}, {"first", "first", ""}, {"second", "second", "", 0}});
  table.add_row({std::string("one"), std::string("a"), 10000.25, 1234567.0});
  EXPECT_EQ(text_of(table, 15),
            "kind  name\n"
            "one   a\n"
            "\n"
            "   first\n"
            "10000.25\n"
            "\n"
            " second\n"
            "1234567\n");
  table.add_row({std::string("one"), std::string("b"), 1.0, 2.0});
  EXPECT_EQ(text_of(table, 15),
            "kind  name\n"
            "one   a\n"
            "one   b\n"
            "\n"
            "name     first\n"
            "a     10000.25\n"
            "b         1.00\n"
            "\n"
            "name   second\n"
            "a     1234567\n"
            "b           2\n");
  EXPECT_EQ(text_of(table, 9),
            "kind\n"
            "one\n"
            "one\n"
            "\n"
            "name\n"
            "a\n"
            "b\n"
            "\n"
            "name     first\n"
            "a     10000.25\n"
            "b         1.00\n"
            "\n"
            "name   second\n"
            "a     1234567\n"
            "b           2\n");
}

TEST(ResultTable, CsvAndJsonHaveEveryColumnByItsKeyAndSayWhereThereIsNothing) {
  EXPECT_EQ(csv_of(example_table()), "name,time_us,bytes\na,12.25,1024\nlong one,,9007199254740991\n");
  EXPECT_EQ(
      example_table().to_json().dump(),
      R"([{"name":"a","time_us":12.25,"bytes":1024},{"name":"long one","time_us":null,"bytes":9007199254740991}])");
}

TEST(ResultTable, WhatIsForPeopleOnlyIsNotForPrograms) {
  ResultTable table({{"both", "time", "us", 1, true, false}, {"low_us", "low", "us", 1, false}});
  table.add_row({std::string("1.0 to 2.0"), 1.0});
  EXPECT_EQ(text_of(table), "time [us]\n1.0 to 2.0\n");
  EXPECT_EQ(csv_of(table), "low_us\n1\n");
  EXPECT_EQ(table.to_json().dump(), R"([{"low_us":1.0}])");
}

TEST(ResultTable, NumbersReadBackFromCsvAsTheSameDouble) {
  for (const double value : {0.1, 1.0 / 3.0, 6.02214076e23, std::nextafter(1.0, 2.0)}) {
    ResultTable table({{"value", "value", ""}});
    table.add_row({value});
    EXPECT_EQ(std::stod(csv_of(table).substr(6)), value);
  }
}

// Spreadsheets run a cell that begins with one of these characters, unless it is a number or is quoted by a leading '.
TEST(ResultTable, CsvHoldsNoFormulasAndQuotesCommasQuotesAndLineEnds) {
  ResultTable table({{"text", "text", ""}});
  for (const char* const text : {"=cmd|'/c calc'!A1", "+x", "-x", "@sum(a)", "\t=x", "-1.5", "a=b", "a,\"b\"\nc"}) {
    table.add_row({std::string(text)});
  }
  table.add_row({-2.5});
  EXPECT_EQ(csv_of(table),
            "text\n'=cmd|'/c calc'!A1\n'+x\n'-x\n'@sum(a)\n'\t=x\n-1.5\na=b\n\"a,\"\"b\"\"\nc\"\n-2.5\n");
}

// 9,108,368.1 us are 9108.4 ms in text. CSV keeps microseconds.
TEST(ResultTable, PeopleReadLongTimesInMilliseconds) {
  ResultTable table({{"time_us", "time", "us", 1}});
  table.add_row({9108368.1});
  table.add_row({250.0});
  EXPECT_EQ(text_of(table), "time [ms]\n   9108.4\n      0.2\n");
  EXPECT_EQ(csv_of(table), "time_us\n9108368.1\n250\n");
  std::ostringstream markdown;
  table.write_markdown(markdown);
  EXPECT_NE(markdown.str().find("| time, ms |"), std::string::npos);
}

TEST(ResultTable, HasItsHeadingWhereItIsEmptyAndAsManyCellsInEveryRowAsColumns) {
  ResultTable table({{"a", "a", "s"}, {"b", "b", ""}});
  EXPECT_EQ(text_of(table), "a [s]  b\n");
  EXPECT_EQ(csv_of(table), "a,b\n");
  EXPECT_EQ(table.to_json().dump(), "[]");
  EXPECT_THROW(table.add_row({1.0}), sim::InternalError);
}

Results example_results() {
  ResultTable answer({{"time_us", "time", "us"}});
  answer.add_row({1.5});
  ResultTable raw({{"detail", "detail", ""}});
  raw.add_row({std::string("x")});
  return {"mi300x", {{"results", "Title", answer}, {"raw", "", raw, false}}, {"beware"}, {}};
}

std::string written_as(const Results& results, Format format) {
  std::ostringstream out;
  write(results, format, out);
  return out.str();
}

TEST(Results, TextShowsTitlesAndOnlyTablesToBeRead) {
  EXPECT_THAT(written_as(example_results(), Format::table),
              AllOf(HasSubstr("Title\ntime [us]\n"), Not(HasSubstr("detail"))));
}

TEST(Results, CsvIsTheFirstTableAndABlockForEachOtherThatDoesNotSumItUp) {
  Results results = example_results();
  EXPECT_EQ(written_as(results, Format::csv), "time_us\n1.5\n\n# raw\ndetail\nx\n");
  results.tables[1].title = "Raw\nthings";
  results.notes = {"All is well."};
  EXPECT_EQ(written_as(results, Format::csv), "time_us\n1.5\n\n# raw: Raw things\ndetail\nx\n\n# All is well.\n");
  results.tables[1].sums_up = true;
  EXPECT_EQ(written_as(results, Format::csv), "time_us\n1.5\n\n# All is well.\n");
  EXPECT_THAT(written_as(results, Format::json), HasSubstr("detail"));
}

TEST(Results, JsonHasThePlatformEveryTableAndTheWarnings) {
  Results results = example_results();
  const auto json = nlohmann::json::parse(written_as(results, Format::json));
  EXPECT_EQ(json["platform"], "mi300x");
  EXPECT_EQ(json["results"][0]["time_us"], 1.5);
  EXPECT_EQ(json["raw"][0]["detail"], "x");
  EXPECT_EQ(json["warnings"][0], "beware");
  results.platform = "\xff";  // The byte is not valid UTF-8.
  EXPECT_TRUE(nlohmann::json::accept(written_as(results, Format::json)));
}

namespace fs = std::filesystem;

class ResultsFolder : public testing::Test {
 protected:
  ResultsFolder() { fs::remove_all(folder_.parent_path()); }
  ~ResultsFolder() override { fs::remove_all(folder_.parent_path()); }

  static Results answer(const std::string& file) {
    Results results = example_results();
    results.tables.pop_back();
    results.files.push_back({file, "made"});
    return results;
  }
  void save_by(const std::string& command, const Results& results) const { save(results, {"9.9", command}, folder_); }
  std::string fault(const std::string& command, const std::string& file) const {
    return config_fault([&] { save_by(command, answer(file)); });
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
  }
  std::string text(const fs::path& name) const { return content(folder_ / name); }
  auto files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  const fs::path folder_ = fs::path(testing::TempDir()) / "results_test" / "new";
};

TEST_F(ResultsFolder, GetsOneCsvPerTableTheJsonAndThePageAndNothingElse) {
  save_by("c3sim copy", example_results());
  EXPECT_EQ(text("results.csv"), "time_us\n1.5\n");
  EXPECT_EQ(text("raw.csv"), "detail\nx\n");
  EXPECT_EQ(text("page.html"), to_html(example_results(), "9.9", "c3sim copy"));
  EXPECT_EQ(files(), 4);
}

TEST_F(ResultsFolder, HasAJsonThatAlsoSaysWhatMadeItAndWhatWasWritten) {
  save_by("c3sim copy", example_results());
  auto json = nlohmann::ordered_json::parse(text("results.json"));
  EXPECT_EQ(json["c3sim"], "9.9");
  EXPECT_EQ(json["command"], "c3sim copy");
  EXPECT_EQ(json["files"], nlohmann::ordered_json({"results.json", "results.csv", "raw.csv", "page.html"}));
  for (const char* const key : {"c3sim", "command", "files", "sha256"}) json.erase(key);
  EXPECT_EQ(json_text(json), written_as(example_results(), Format::json));
}

TEST_F(ResultsFolder, GetsAnotherAnswerOfTheSameCommandInsteadOfTheFilesOfTheLastAndOfNoOthers) {
  Results first = example_results();
  first.files.push_back({"decisions.h", "made"});
  save_by("c3sim copy --bytes 1MiB", first);
  write("mine.csv", "kept");
  Results other = example_results();
  other.tables[1].key = "other";
  save_by("c3sim copy --bytes 2MiB", other);
  EXPECT_FALSE(fs::exists(folder_ / "raw.csv"));
  EXPECT_FALSE(fs::exists(folder_ / "decisions.h"));
  EXPECT_TRUE(fs::exists(folder_ / "other.csv"));
  EXPECT_EQ(text("mine.csv"), "kept");
}

TEST_F(ResultsFolder, KeepsAFileThatNoAnswerLeft) {
  write("raw.csv", "mine");
  EXPECT_NE(config_fault([&] { save_by("c3sim copy", example_results()); }), "");
  EXPECT_EQ(text("raw.csv"), "mine");
  EXPECT_EQ(files(), 1);
}

// A results.json of another program may list any files.
TEST_F(ResultsFolder, IsNotLeftByAListOfFiles) {
  fs::create_directories(folder_ / "inner");
  write("../outside", "kept");
  write("results.json",
        R"({"c3sim": "1", "files": ["results.json", "../outside", "inner", "..", "", 7, "inner/../../outside"]})");
  save_by("c3sim copy", example_results());
  EXPECT_EQ(text("../outside"), "kept");
  EXPECT_TRUE(fs::exists(folder_ / "inner"));
}

TEST_F(ResultsFolder, KeepsWhatHasBeenEditedSinceUnlessItIsSaidThatItMayGo) {
  for (const std::string name : {"made.txt", "results.csv", "page.html", "results.json"}) {
    SCOPED_TRACE(name);
    fs::remove_all(folder_);
    save_by("c3sim gemm", answer("made.txt"));
    EXPECT_EQ(fault("c3sim gemm", "made.txt"), "");
    std::string edited = text(name);
    if (name == "results.json") {
      edited.replace(edited.find("1.5"), 3, "1.25");
    } else {
      edited += "edited";
    }
    write(name, edited);
    EXPECT_THAT(fault("c3sim gemm", "other.txt"),
                HasSubstr((folder_ / name).string() + ": has been edited since c3sim wrote it"));
    EXPECT_EQ(text(name), edited);
    save(answer("made.txt"), {"9.9", "c3sim gemm", true}, folder_);
    EXPECT_EQ(fault("c3sim gemm", "made.txt"), "");
  }
}

// A sweep that was stopped has points but no results.json.
TEST_F(ResultsFolder, IsASweepsIfItHasPoints) {
  write("points.sqlite", "points");
  EXPECT_THAT(fault("c3sim gemm", "a.txt"), HasSubstr("holds the points of 'c3sim sweep' (points.sqlite)"));
  EXPECT_EQ(fault("c3sim sweep study.yaml", "a.txt"), "");
}

TEST_F(ResultsFolder, IsRefusedWhereAnotherRunIsAtWork) {
  fs::create_directories(folder_);
  const FolderLock lock(folder_);
  EXPECT_TRUE(FolderLock::is_taken(folder_));
  EXPECT_THAT(fault("c3sim gemm", "a.txt"), HasSubstr("another run is at work in this folder"));
  EXPECT_FALSE(fs::exists(folder_ / "results.json"));
  save(answer("a.txt"), {"9.9", "c3sim sweep"}, folder_, &lock);
  EXPECT_EQ(text("a.txt"), "made");
}

NamedTable table_of(const std::string& key, const std::string& title, int rows, bool in_text = true) {
  ResultTable table({{"strategy", "strategy", ""}, {"time_us", "time", "us"}, {"bytes", "bytes", "", 2, false}});
  for (int i = 0; i < rows; ++i)
    table.add_row({std::string(i % 2 == 0 ? "serial" : "conccl"), 1.0 * i, std::int64_t{i}});
  return {key, title, std::move(table), in_text};
}

TEST(ResultsPage, HasASectionPerTableThoseToBeReadFirst) {
  const Results results{"mi300x", {table_of("results", "", 2, false), table_of("summary", "Summary", 2)}, {}, {}};
  const auto page = page_json(results);
  EXPECT_EQ(page["title"], "Predicted for mi300x");
  ASSERT_EQ(page["sections"].size(), 2U);
  EXPECT_EQ(page["sections"][0]["id"], "summary");
  EXPECT_EQ(page["sections"][0]["heading"], "Summary");
  EXPECT_EQ(page["sections"][0]["table"]["columns"].size(), 2U);
  EXPECT_EQ(page["sections"][1]["heading"], "Results");
  EXPECT_EQ(page["sections"][1]["table"]["columns"].size(), 3U);
}

TEST(ResultsPage, SaysNothingTwice) {
  Results results{"mi300x", {table_of("results", "A pair on mi300x", 2)}, {}, {}};
  EXPECT_EQ(title_of(results), "A pair on mi300x");
  EXPECT_EQ(page_json(results)["sections"][0]["heading"], "Results");
  results.title = "A pair";
  results.tables[0].title = "A pair: its times";
  EXPECT_EQ(title_of(results), "A pair");
  EXPECT_EQ(page_json(results)["sections"][0]["heading"], "its times");
}

TEST(ResultsPage, LongTablesAreFilteredByTextsThatRecur) {
  for (const int rows : {20, 21}) {
    const auto json = table_json(table_of("t", "", rows));
    EXPECT_EQ(json["filterable"], rows == 21);
    EXPECT_EQ(json["columns"][0]["choice"], rows == 21);
    EXPECT_EQ(json["columns"][1]["choice"], false);
  }
}

TEST(ResultsPage, OpensWithWarningsAndChartsOfTheAnswerAsAWholeAndShowsThoseOfATable) {
  Results results{"mi300x", {table_of("results", "", 2)}, {"beware"}, {}};
  results.tables[0].charts = {BarChart{.id = "chart", .title = "title", .value_axis = "axis"}};
  results.charts = {TimelineChart{.id = "timeline", .title = "title"}};
  const auto page = page_json(results);
  EXPECT_EQ(page["lead"].back(), "Warning: beware");
  ASSERT_EQ(page["sections"].size(), 2U);
  EXPECT_EQ(page["sections"][0]["heading"], "Overview");
  EXPECT_EQ(page["sections"][0]["charts"][0]["id"], "timeline");
  EXPECT_EQ(page["sections"][1]["heading"], "Results");
  EXPECT_EQ(page["sections"][1]["charts"][0]["id"], "chart");
}

// The tests below check the quantiles that every part of the program reports.

// The median is the middle value or the mean of the two middle values. The quantile 0.1 of 0, 10, 20, 30, 40 lies 0.4
// steps of 10 above the least.
TEST(Quantile, LiesBetweenTheNearestTwo) {
  struct Row {
    std::vector<double> values;
    double share, expected;
  };
  const std::vector<double> tens{40.0, 10.0, 0.0, 30.0, 20.0};
  for (const auto& [values, share, expected] :
       {Row{{7.0}, 0.5, 7.0}, Row{{4.0, 1.0}, 0.5, 2.5}, Row{{9.0, 1.0, 2.0}, 0.5, 2.0},
        Row{{4.0, 1.0, 2.0, 100.0}, 0.5, 3.0}, Row{tens, 0.1, 4.0}, Row{tens, 0.0, 0.0}, Row{tens, 1.0, 40.0}}) {
    EXPECT_DOUBLE_EQ(quantile(values, share), expected);
  }
  EXPECT_EQ(median({4.0, 1.0, 2.0, 100.0}), 3.0);
  const std::vector<double> sorted{1.0, 2.0};
  EXPECT_EQ(value_at(sorted, -0.5), 1.0) << "places beyond the ends are the ends";
  EXPECT_EQ(value_at(sorted, 1.5), 2.0);
}

RC_GTEST_PROP(Quantile, LiesWithinTheValuesAndGrowsWithTheShare, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<double>>();
  const double share = *rc::gen::inRange(0, 100) / 100.0;
  const double here = quantile(values, share);
  RC_ASSERT(std::ranges::min(values) <= here && here <= quantile(values, share + 0.01));
  RC_ASSERT(quantile(values, 1.0) == std::ranges::max(values));
}

// The tests below check figures that are folded from the rows of a table.

// Returns the times of two makers at two sizes, of which only rccl's at 4 MiB does not fit.
ResultTable times_by_maker() {
  ResultTable table({{"maker", "", ""}, {"bytes", "", ""}, {"time-us", "", ""}, {"fits", "", ""}});
  table.add_row({std::string("rccl"), std::string("1MiB"), 2.0, true});
  table.add_row({std::string("rccl"), std::string("4MiB"), 8.0, false});
  table.add_row({std::string("sdma"), std::string("1MiB"), 3.0, true});
  table.add_row({std::string("sdma"), std::string("4MiB"), 6.0, true});
  return table;
}

std::string figures_of_times(const std::string& text) {
  sim::Config config = sim::Config::from_text("figure: {" + text + "}", "f.yaml");
  const TableFigure read = read_table_figure(config.root().section("figure"));
  config.finish();
  return fmt::format("{:.6g}\n", fmt::join(figure_of(read, times_by_maker()), ", "));
}

// Each line of a sample describes one figure of the times of times_by_maker().
TEST(TableFigures, AreFoldedAsTheyAreDescribed) {
  expect_samples("table_figures.samples", [](const Sample& sample) {
    std::string words;
    std::istringstream lines(sample.inputs.front().second);
    for (std::string line; std::getline(lines, line);) {
      const std::string fault = config_fault([&] { words += figures_of_times(line); });
      if (!fault.empty()) words += fault + '\n';
    }
    return words;
  });
}

}  // namespace
}  // namespace c3sim::study
