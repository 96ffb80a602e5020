#include "study/report/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "study/report/html_file.h"
#include "study/report/results_folder.h"
#include "study/report/results_page.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Results example() {
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
  EXPECT_THAT(written(example(), Format::table), HasSubstr("Title\ntime [us]\n"));
  EXPECT_THAT(written(example(), Format::table), Not(HasSubstr("detail")));
}

TEST(Results, CsvIsTheFirstTable) { EXPECT_EQ(written(example(), Format::csv), "time_us\n1.5\n"); }

TEST(Results, JsonHasThePlatformEveryTableAndTheWarnings) {
  const auto json = nlohmann::json::parse(written(example(), Format::json));
  EXPECT_EQ(json["platform"], "mi300x");
  EXPECT_EQ(json["results"][0]["time_us"], 1.5);
  EXPECT_EQ(json["raw"][0]["detail"], "x");
  EXPECT_EQ(json["warnings"][0], "beware");
}

TEST(Results, NamesThatAreNoUtf8StillGiveJson) {
  Results results = example();
  results.platform = "\xff";
  EXPECT_TRUE(nlohmann::json::accept(written(results, Format::json)));
}

TEST(Results, SavingLeavesOneCsvPerTableTheJsonAndThePageAndNothingElse) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "results_test" / "new";
  std::filesystem::remove_all(folder.parent_path());
  save(example(), folder);
  EXPECT_EQ(content(folder / "results.csv"), written(example(), Format::csv));
  EXPECT_EQ(content(folder / "raw.csv"), "detail\nx\n");
  EXPECT_EQ(content(folder / "results.json"), written(example(), Format::json));
  EXPECT_EQ(content(folder / "page.html"), to_html(results_page(example())));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 4);
}

}  // namespace
}  // namespace c3sim::study
