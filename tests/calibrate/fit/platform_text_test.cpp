#include "calibrate/fit/platform_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "tests/samples.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::calibrate {
namespace {

sim::Parameter parameter(const PlatformText& platform, const std::string& path) {
  const std::vector<sim::Parameter> parameters = platform.parameters();
  return *std::ranges::find(parameters, path, &sim::Parameter::path);
}

void replace(PlatformText& platform, const std::string& path, const std::string& value, const std::string& source) {
  platform.replace(std::vector{PlatformText::Replacement{parameter(platform, path), value, "", source}});
}

TEST(SpelledNumber, KeepsItsUnit) {
  EXPECT_EQ(split_unit("396 GB/s").unit, "GB/s");
  EXPECT_DOUBLE_EQ(split_unit("2.5us").number, 2.5);
  EXPECT_EQ(split_unit("2.5us").unit, "us");
  EXPECT_EQ(split_unit("0.87").unit, "");
}

TEST(SpelledNumber, HasTheDigitsThatAreAskedFor) {
  EXPECT_EQ(spell(395.71, "GB/s", 3), "396 GB/s");
  EXPECT_EQ(spell(0.025941, "", 3), "0.0259");
  EXPECT_EQ(spell(5253.9, "ns", 2), "5300 ns");
}

// A number is spelled to a twentieth of its error, but with at least three digits.
TEST(SpelledNumber, HasTheDigitsThatItsErrorLeaves) {
  EXPECT_EQ(spell_within(395.712, 1.0, "GB/s"), "395.7 GB/s");
  EXPECT_EQ(spell_within(395.712, 40.0, "GB/s"), "396 GB/s");
  EXPECT_EQ(spell_within(0.0, 1.0, "us"), "0 us");
}

TEST(PlatformText, ChangesOneLineAndKeepsTheRest) {
  PlatformText platform(h200_file);
  const std::string before = platform.text();
  replace(platform, "gpu.power.idle", "90 W", "a new, better source");
  const sim::Parameter changed = parameter(platform, "gpu.power.idle");
  EXPECT_EQ(changed.value, "90 W");
  EXPECT_EQ(changed.source, "a new, better source");
  EXPECT_EQ(changed.kind, "fitted");

  // Compared line by line, only the line of the parameter differs.
  std::istringstream old_lines(before);
  std::istringstream new_lines(platform.text());
  std::string old_line;
  std::string new_line;
  int differ = 0;
  while (std::getline(old_lines, old_line) && std::getline(new_lines, new_line)) differ += old_line != new_line;
  EXPECT_EQ(differ, 1);
  EXPECT_EQ(platform.text().find('#'), 0u) << "comments stay";
}

TEST(PlatformText, AsksForASourceBesideAValue) {
  PlatformText platform(h200_file);
  sim::Parameter unknown = parameter(platform, "gpu.power.idle");
  unknown.path = "gpu.power.idles";
  EXPECT_THAT(config_fault([&] {
                platform.replace(std::vector{PlatformText::Replacement{unknown, "91 W", "", "x"}});
              }),
              HasSubstr("gpu.power.idles: a parameter that is fitted is written as {value: ..."));
}

TEST(PlatformText, ReachesParametersInLists) {
  PlatformText platform(h200_file);
  replace(platform, "gpu.gemm.libraries[0].efficiency", "0.9", "x");
  EXPECT_DOUBLE_EQ(platform.spec().gpu.gemm.library.efficiency, 0.9);
}

TEST(PlatformText, AssignsWithoutWriting) {
  const PlatformText platform(h200_file);
  EXPECT_EQ(platform.spec(std::vector<std::string>{"gpu.power.idle=90 W"}).gpu.power.idle, sim::Watts(90.0));
  EXPECT_EQ(platform.text(), content(h200_file));
}

// Returns a platform file with that text that stands on h200, as a person may write it.
PlatformText on_h200(const std::string& text, std::span<const std::string> assignments = {}) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "on_h200.yaml";
  std::ofstream(file) << "base: h200\n" << text;
  return PlatformText(file, folders, assignments);
}

// The first input is a file of the name on_h200.yaml. Each other input is an edit: "--set" writes an assignment,
// "list NAME" replaces the rows of a list, and "PATH" has a line each for the new value, its error and its source.
std::string words_of_edits(const Sample& sample) {
  std::vector<std::string> assignments;
  for (const auto& [name, text] : sample.inputs) {
    if (name == "--set") assignments.push_back(boost::trim_right_copy(text));
  }
  PlatformText platform = on_h200(sample.inputs.front().second, assignments);
  for (const auto& [name, text] : std::span(sample.inputs).subspan(1)) {
    std::vector<std::string> lines;
    boost::split(lines, text, boost::is_any_of("\n"));
    lines.pop_back();
    if (name == "--set") continue;
    if (name.starts_with("list ")) {
      for (std::string& row : lines) row += '\n';
      platform.replace_list(name.substr(5), lines);
    } else {
      platform.replace(
          std::vector{PlatformText::Replacement{parameter(platform, name), lines.at(0), lines.at(1), lines.at(2)}});
    }
  }
  std::string words = platform.text();
  for (const sim::Parameter& one : platform.parameters()) {
    if (one.file.ends_with("on_h200.yaml") && one.path.find('[') == std::string::npos) {
      words += fmt::format("reads {} = {}, error {}, {}, {}\n", one.path, one.value, one.error, one.kind, one.source);
    }
  }
  if (sample.inputs.back().first == "list fitted_to") {
    words += fmt::format("{} rows of fitted_to\n", platform.spec().fitted_to.size());
  }
  return words;
}

TEST(PlatformText, IsEditedWhereItStands) {
  expect_samples("platform_texts.samples", [](const Sample& sample) {
    std::string words;
    const std::string fault = config_fault([&] { words = words_of_edits(sample); });
    return fault.empty() ? words : boost::replace_all_copy(fault, testing::TempDir(), "") + '\n';
  });
}

// A list comes from one file as a whole: lists of a file and its base are not merged.
TEST(PlatformText, WritesAListOfItsBaseAsAWhole) {
  PlatformText platform = on_h200("");
  replace(platform, "gpu.gemm.libraries[0].efficiency", "0.9", "y");
  EXPECT_THAT(platform.text(), HasSubstr("gpu:\n  gemm:\n    libraries:\n      - name:"));
  EXPECT_DOUBLE_EQ(platform.spec().gpu.gemm.library.efficiency, 0.9);
  PlatformText braces = on_h200("gpu: {}\n");
  EXPECT_THAT(config_fault([&] { replace(braces, "gpu.gemm.libraries[0].efficiency", "0.9", "y"); }),
              HasSubstr("on_h200.yaml:2:6: gpu.gemm.libraries[0].efficiency: is in a list of the file that this one "
                        "stands on, which has no place between { and }"));
}

}  // namespace
}  // namespace c3sim::calibrate
