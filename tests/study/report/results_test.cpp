#include "study/report/results.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "sim/config/config_error.h"
#include "study/report/page.h"
#include "study/report/results_folder.h"
#include "study/report/statistics.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

Results example_results() {
  ResultTable answer({{"time_us", "time", "us"}});
  answer.add_row({1.5});
  ResultTable raw({{"detail", "detail", ""}});
  raw.add_row({std::string("x")});
  return {"mi300x", {{"results", "Title", answer}, {"raw", "", raw, false}}, {"beware"}, {}};
}

std::string written(const Results& results, Format format) {
  std::ostringstream out;
  write(results, format, out);
  return out.str();
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Results, TextShowsTitlesAndOnlyTablesToBeRead) {
  EXPECT_THAT(written(example_results(), Format::table), HasSubstr("Title\ntime [us]\n"));
  EXPECT_THAT(written(example_results(), Format::table), Not(HasSubstr("detail")));
}

TEST(Results, CsvIsTheFirstTableAndABlockForEachOther) {
  Results results = example_results();
  EXPECT_EQ(written(results, Format::csv), "time_us\n1.5\n\n# raw\ndetail\nx\n");
  results.tables[1].title = "Raw\nthings";
  results.notes = {"All is well."};
  EXPECT_EQ(written(results, Format::csv), "time_us\n1.5\n\n# raw: Raw things\ndetail\nx\n\n# All is well.\n");
}

TEST(Results, CsvLeavesOutWhatSumsTheFirstTableUp) {
  Results results = example_results();
  results.tables[1].sums_up = true;
  EXPECT_EQ(written(results, Format::csv), "time_us\n1.5\n");
  EXPECT_THAT(written(results, Format::json), HasSubstr("detail"));
}

TEST(Results, JsonHasThePlatformEveryTableAndTheWarnings) {
  const auto json = nlohmann::json::parse(written(example_results(), Format::json));
  EXPECT_EQ(json["platform"], "mi300x");
  EXPECT_EQ(json["results"][0]["time_us"], 1.5);
  EXPECT_EQ(json["raw"][0]["detail"], "x");
  EXPECT_EQ(json["warnings"][0], "beware");
}

TEST(Results, MarkdownHasTheTablesToBeReadAndTheWarnings) {
  Results results = example_results();
  results.title = "A|B";
  EXPECT_EQ(written(results, Format::markdown),
            "# A\\|B\n\n## Title\n\n| time, us |\n| --- |\n| 1.50 |\n\n- warning: beware\n");
}

TEST(Results, NamesThatAreNoUtf8StillGiveJson) {
  Results results = example_results();
  results.platform = "\xff";
  EXPECT_TRUE(nlohmann::json::accept(written(results, Format::json)));
}

std::filesystem::path new_folder() {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "results_test" / "new";
  std::filesystem::remove_all(folder.parent_path());
  return folder;
}

const Origin origin{"9.9", "c3sim copy"};

TEST(Results, SavingLeavesOneCsvPerTableTheJsonMarkdownAndThePageAndNothingElse) {
  const std::filesystem::path folder = new_folder();
  save(example_results(), origin, folder);
  EXPECT_EQ(content(folder / "results.csv"), "time_us\n1.5\n");
  EXPECT_EQ(content(folder / "raw.csv"), "detail\nx\n");
  EXPECT_EQ(content(folder / "report.md"),
            written(example_results(), Format::markdown) + "\nAsked of c3sim 9.9: c3sim copy\n");
  Page page = results_page(example_results());
  page.version = origin.version;
  page.command = origin.command;
  EXPECT_EQ(content(folder / "page.html"), to_html(page));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 5);
}

TEST(Results, SavedJsonAlsoSaysWhatMadeItAndWhatWasWritten) {
  const std::filesystem::path folder = new_folder();
  save(example_results(), origin, folder);
  auto json = nlohmann::ordered_json::parse(content(folder / "results.json"));
  EXPECT_EQ(json["c3sim"], "9.9");
  EXPECT_EQ(json["command"], "c3sim copy");
  EXPECT_EQ(json["files"],
            nlohmann::ordered_json({"results.json", "results.csv", "raw.csv", "report.md", "page.html"}));
  for (const char* const key : {"c3sim", "command", "files", "sha256"}) json.erase(key);
  EXPECT_EQ(json_text(json), written(example_results(), Format::json));
}

TEST(Results, AnotherAnswerReplacesTheFilesOfTheLastAndNoOthers) {
  const std::filesystem::path folder = new_folder();
  save(example_results(), origin, folder);
  std::ofstream(folder / "mine.csv") << "kept";
  Results other = example_results();
  other.tables[1].key = "other";
  save(other, origin, folder);
  EXPECT_FALSE(std::filesystem::exists(folder / "raw.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "other.csv"));
  EXPECT_EQ(content(folder / "mine.csv"), "kept");
}

TEST(Results, AFileThatNoAnswerLeftIsNeitherReplacedNorRemoved) {
  const std::filesystem::path folder = new_folder();
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "raw.csv") << "mine";
  EXPECT_THROW(save(example_results(), origin, folder), sim::ConfigError);
  EXPECT_EQ(content(folder / "raw.csv"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

// A results.json of somebody else lists what it likes.
TEST(Results, AListOfFilesDoesNotLeadOutOfItsFolder) {
  const std::filesystem::path folder = new_folder();
  std::filesystem::create_directories(folder / "inner");
  std::ofstream(folder.parent_path() / "outside") << "kept";
  std::ofstream(folder / "results.json")
      << R"({"c3sim": "1", "files": ["results.json", "../outside", "inner", "..", "", 7, "inner/../../outside"]})";
  save(example_results(), origin, folder);
  EXPECT_EQ(content(folder.parent_path() / "outside"), "kept");
  EXPECT_TRUE(std::filesystem::exists(folder / "inner"));
}

namespace fs = std::filesystem;

class ResultsFolder : public testing::Test {
 protected:
  ResultsFolder() { fs::remove_all(folder_); }
  ~ResultsFolder() override { fs::remove_all(folder_); }

  static Results answer(const std::string& file) {
    ResultTable table({{"time_us", "time", "us"}});
    table.add_row({1.5});
    Results results{"mi300x", {{"results", "", table}}, {}, {}};
    results.files.push_back({file, "made"});
    return results;
  }
  void save_by(const std::string& command, const std::string& file) const {
    save(answer(file), {"1.0", command}, folder_);
  }
  std::string fault_of(const std::string& command, const std::string& file) const {
    try {
      save_by(command, file);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "results_folder_test";
};

TEST_F(ResultsFolder, TheAnswerOfAnotherCommandStaysWithWhatWasEditedInIt) {
  save_by("c3sim tune --bytes 1MiB", "decisions.h");
  std::ofstream(folder_ / "decisions.h") << "edited";
  EXPECT_THAT(fault_of("c3sim gemm --gemm 64x64x64", "other.txt"),
              AllOf(HasSubstr("holds the answer of 'c3sim tune' (results.json, results.csv, report.md, page.html, "
                              "decisions.h), which another command does not replace"),
                    HasSubstr("another folder is accepted, or this one once these files are gone")));
  EXPECT_EQ(text("decisions.h"), "edited");
  EXPECT_FALSE(fs::exists(folder_ / "other.txt"));
}

TEST_F(ResultsFolder, TheSameCommandReplacesItsOwnAnswer) {
  save_by("c3sim tune --bytes 1MiB", "decisions.h");
  EXPECT_EQ(fault_of("c3sim tune --bytes 2MiB", "other.txt"), "");
  EXPECT_FALSE(fs::exists(folder_ / "decisions.h"));
}

TEST_F(ResultsFolder, WhatHasBeenEditedSinceStaysUnlessItIsSaidThatItMayGo) {
  for (const char* const name : {"made.txt", "results.csv", "page.html", "results.json"}) {
    fs::remove_all(folder_);
    save_by("c3sim gemm", "made.txt");
    EXPECT_EQ(fault_of("c3sim gemm", "made.txt"), "");
    if (name == std::string("results.json")) {
      std::string changed = text(name);
      std::ofstream(folder_ / name) << changed.replace(changed.find("1.5"), 3, "1.25");
    } else {
      std::ofstream(folder_ / name, std::ios::app) << "edited";
    }
    const std::string edited = text(name);
    EXPECT_THAT(fault_of("c3sim gemm", "other.txt"),
                HasSubstr((folder_ / name).string() + ": has been edited since c3sim wrote it"))
        << name;
    EXPECT_EQ(text(name), edited);
    save(answer("made.txt"), {"1.0", "c3sim gemm", true}, folder_);
    EXPECT_EQ(fault_of("c3sim gemm", "made.txt"), "") << name;
  }
}

// A sweep that was stopped has no results.json.
TEST_F(ResultsFolder, AFolderWithPointsIsASweeps) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "points.sqlite") << "points";
  EXPECT_THAT(fault_of("c3sim gemm", "a.txt"), HasSubstr("holds the points of 'c3sim sweep' (points.sqlite)"));
  EXPECT_EQ(fault_of("c3sim sweep study.yaml", "a.txt"), "");
}

TEST_F(ResultsFolder, AFolderInWhichAnotherRunIsAtWorkIsRefused) {
  fs::create_directories(folder_);
  const FolderLock lock(folder_);
  EXPECT_TRUE(FolderLock::is_taken(folder_));
  EXPECT_THAT(fault_of("c3sim gemm", "a.txt"), HasSubstr("another run is at work in this folder"));
  EXPECT_FALSE(fs::exists(folder_ / "results.json"));
  save(answer("a.txt"), {"1.0", "c3sim sweep"}, folder_, &lock);
  EXPECT_EQ(text("a.txt"), "made");
}

TEST_F(ResultsFolder, WhatTheSystemRefusesIsToldByItsReason) {
  const auto reason = [](const fs::path& folder) {
    const std::vector<sim::Fault> faults = in_the_way(folder, {"results.json"}, {"1.0", "c3sim gemm"});
    return faults.empty() ? "" : faults.front().what;
  };
  EXPECT_EQ(reason(folder_), "");  // is to be made
  fs::create_directories(folder_);
  EXPECT_EQ(reason(folder_ / std::string(300, 'a')), "cannot be used: File name too long");
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(reason(folder_ / "loop"), "cannot be used: Too many levels of symbolic links");
}

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

// Quantiles, as every part of the program tells them.

TEST(Quantile, MedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(quantile({7.0}, 0.5), 7.0);
  EXPECT_EQ(quantile({4.0, 1.0}, 0.5), 2.5);
  EXPECT_EQ(quantile({9.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(quantile({4.0, 1.0, 2.0, 100.0}, 0.5), 3.0);
  EXPECT_EQ(median({7.0}), 7.0);
  EXPECT_EQ(median({4.0, 1.0, 2.0, 100.0}), 3.0);
}

// Of 0, 10, 20, 30, 40 a tenth lies 0.4 steps of 10 above the first.
TEST(Quantile, LiesBetweenTheNearestTwo) {
  const std::vector<double> values{40.0, 10.0, 0.0, 30.0, 20.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 4.0);
  EXPECT_EQ(quantile(values, 0.0), 0.0);
  EXPECT_EQ(quantile(values, 1.0), 40.0);
}

TEST(Quantile, PlacesBeyondTheEndsAreTheEnds) {
  const std::vector<double> sorted{1.0, 2.0};
  EXPECT_EQ(value_at(sorted, -0.5), 1.0);
  EXPECT_EQ(value_at(sorted, 1.5), 2.0);
}

RC_GTEST_PROP(Quantile, LiesWithinTheValuesAndGrowsWithTheShare, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<double>>();
  const double share = *rc::gen::inRange(0, 100) / 100.0;
  const double here = quantile(values, share);
  RC_ASSERT(std::ranges::min(values) <= here && here <= quantile(values, share + 0.01));
  RC_ASSERT(quantile(values, 1.0) == std::ranges::max(values));
}

}  // namespace
}  // namespace c3sim::study
