#include "study/report/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/config/config_error.h"
#include "study/report/html_file.h"
#include "study/report/results_folder.h"
#include "study/report/results_page.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  for (const char* const key : {"c3sim", "command", "files"}) json.erase(key);
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

}  // namespace
}  // namespace c3sim::study
