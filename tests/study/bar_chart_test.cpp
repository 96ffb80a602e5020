#include "study/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace study {
namespace {

using ::testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path empty_folder(const std::string& name) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("bar_chart_" + name);
  std::filesystem::remove_all(folder);
  return folder;
}

const BarChart chart{.title = "a study",
                     .value_axis = "fraction of ideal [%]",
                     .series = {"predicted", "published"},
                     .bars = {{"c3_base", {20.5, 21.0}}, {"conccl", {66.0, {}}}}};

TEST(BarChart, LeavesAPictureWithItsDataAndScript) {
  const std::filesystem::path folder = empty_folder("picture");
  ASSERT_EQ(draw(chart, folder, "fraction"), "");
  EXPECT_THAT(content(folder / "fraction.svg"), HasSubstr("c3_base"));
  EXPECT_THAT(content(folder / "fraction.dat"), HasSubstr("\"conccl\" 66 NaN"));
  EXPECT_THAT(content(folder / "fraction.gp"), HasSubstr("a study"));
  EXPECT_FALSE(std::filesystem::exists(folder / "fraction.svg.partial"));
}

TEST(BarChart, StacksWhatIsToBeAddedUp) {
  const std::filesystem::path folder = empty_folder("stacked");
  BarChart stacked = chart;
  stacked.layout = BarChart::Layout::stacked;
  stacked.bars[0].values[1] = -3.0;
  ASSERT_EQ(draw(stacked, folder, "parts"), "");
  EXPECT_THAT(content(folder / "parts.gp"), HasSubstr("rowstacked"));
  EXPECT_THAT(content(folder / "parts.svg"), HasSubstr("published"));
}

TEST(BarChart, TheSameChartGivesTheSamePicture) {
  const std::filesystem::path folder = empty_folder("same");
  ASSERT_EQ(draw(chart, folder, "first"), "");
  const std::string first = content(folder / "first.svg");
  ASSERT_EQ(draw(chart, folder, "first"), "");
  EXPECT_EQ(content(folder / "first.svg"), first);
}

// Inside gnuplot's double quotes, `...` would run a command.
TEST(BarChart, TextsCannotBeTakenForCommands) {
  const std::filesystem::path folder = empty_folder("quotes");
  BarChart hostile = chart;
  hostile.title = "\"; `touch stolen`\n\\";
  hostile.bars[0].label = "\" `touch stolen`";
  EXPECT_EQ(draw(hostile, folder, "fraction"), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "stolen"));
}

TEST(BarChart, SaysWhereGnuplotIsMissing) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  const std::string problem = draw(chart, empty_folder("missing"), "fraction");
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(problem, HasSubstr("gnuplot cannot be started"));
}

}  // namespace
}  // namespace study
