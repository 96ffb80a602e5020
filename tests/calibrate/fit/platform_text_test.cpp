#include "calibrate/fit/platform_text.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
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

// To a twentieth of the error, but at least three digits.
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

  // Line by line, only the one of the parameter differs.
  std::istringstream old_lines(before);
  std::istringstream new_lines(platform.text());
  std::string old_line;
  std::string new_line;
  int differ = 0;
  while (std::getline(old_lines, old_line) && std::getline(new_lines, new_line)) differ += old_line != new_line;
  EXPECT_EQ(differ, 1);
  EXPECT_EQ(platform.text().find('#'), 0u) << "comments stay";
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

// A file of that text that stands on h200, as a person may write it.
PlatformText on_h200(const std::string& text, std::span<const std::string> assignments = {}) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "on_h200.yaml";
  std::ofstream(file) << "base: h200\n" << text;
  return PlatformText(file, folders, assignments);
}

TEST(PlatformText, WritesWhatItsBaseSaysIntoTheFileItself) {
  PlatformText platform = on_h200("gpu:\n  power:\n    cap: {value: 650 W, source: x, kind: measured}  # mine\n");
  replace(platform, "gpu.power.idle", "91 W", "y");
  replace(platform, "fabric.link_rate", "380 GB/s", "z");
  EXPECT_EQ(platform.text(),
            "base: h200\ngpu:\n  power:\n    idle: {value: 91 W, source: \"y\"}\n"
            "    cap: {value: 650 W, source: x, kind: measured}  # mine\n\n"
            "fabric:\n  link_rate: {value: 380 GB/s, source: \"z\"}\n");
  EXPECT_EQ(platform.spec().gpu.power.idle, sim::Watts(91.0));
  EXPECT_EQ(platform.spec().gpu.power.cap, sim::Watts(650.0));
  EXPECT_EQ(parameter(platform, "gpu.power.idle").kind, "fitted") << "as the base says";
}

TEST(PlatformText, WritesIntoSectionsBetweenBraces) {
  PlatformText platform = on_h200("gpu: {power: {cap: {value: 650 W, source: x, kind: measured}}}\nhost: {}\n");
  replace(platform, "gpu.power.idle", "91 W", "y");
  replace(platform, "gpu.memory.hbm.read_efficiency", "0.8", "y");
  replace(platform, "host.kernel_launch", "9 us", "y");
  EXPECT_EQ(platform.text(),
            "base: h200\ngpu: {memory: {hbm: {read_efficiency: {value: 0.8, source: \"y\"}}}, power: {idle: {value: 91 "
            "W, source: \"y\"}, cap: {value: 650 W, source: x, kind: measured}}}\nhost: {kernel_launch: {value: 9 us, "
            "source: \"y\"}}\n");
  EXPECT_EQ(platform.spec().gpu.power.idle, sim::Watts(91.0));
}

// A list is that of one file alone.
TEST(PlatformText, WritesAListOfItsBaseAsAWhole) {
  PlatformText platform = on_h200("");
  replace(platform, "gpu.gemm.libraries[0].efficiency", "0.9", "y");
  EXPECT_THAT(platform.text(), HasSubstr("gpu:\n  gemm:\n    libraries:\n      - name:"));
  EXPECT_DOUBLE_EQ(platform.spec().gpu.gemm.library.efficiency, 0.9);
  PlatformText braces = on_h200("gpu: {}\n");
  try {
    replace(braces, "gpu.gemm.libraries[0].efficiency", "0.9", "y");
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("on_h200.yaml:2:6: gpu.gemm.libraries[0].efficiency: is in a list of the file "
                                        "that this one stands on, which has no place between { and }"));
  }
}

TEST(PlatformText, HidesAListOfItsBaseBehindAnEmptyOne) {
  PlatformText platform = on_h200("");
  ASSERT_FALSE(platform.spec().fitted_to.empty());
  platform.replace_list("fitted_to", {});
  EXPECT_EQ(platform.text(), "base: h200\nfitted_to: []\n");
  EXPECT_TRUE(platform.spec().fitted_to.empty());
}

TEST(PlatformText, HasAssignmentsWrittenIntoIt) {
  PlatformText platform = on_h200("name: {value: mine, source: x, kind: measured}\n",
                                  std::vector<std::string>{"gpus=4", "gpu.power.idle = 90 W", "gpus=2", "name=yours"});
  EXPECT_THAT(platform.text(), HasSubstr("gpus: {value: 2, source: \"--set gpus=2\", kind: what_if}"));
  EXPECT_THAT(platform.text(), HasSubstr("name: {value: yours, source: \"--set name=yours\", kind: what_if}"));
  EXPECT_EQ(platform.spec().gpus, 2);
  EXPECT_EQ(parameter(platform, "gpu.power.idle").kind, "what_if");
  EXPECT_EQ(platform.spec().gpu.power.idle, sim::Watts(90.0));
}

TEST(PlatformText, ChecksAssignmentsAsItChecksTheFile) {
  const auto fault = [](const std::string& text, const std::string& assignment) {
    return config_fault([&] { on_h200(text, std::vector{assignment}); });
  };
  EXPECT_THAT(fault("", "gpus=400"), HasSubstr("--set gpus=400: gpus: '400' must lie between 1 and 64"));
  EXPECT_THAT(fault("", "gpu.power.idel=90 W"), HasSubstr("did you mean 'gpu.power.idle'?"));
  EXPECT_THAT(fault("name: mine\n", "name=yours"), HasSubstr("--set name=yours: name: cannot be written into"));
}

TEST(PlatformText, PutsAnErrorBehindItsValueAndTakesItAway) {
  PlatformText platform(h200_file);
  const auto put = [&](const std::string& error) {
    platform.replace(
        std::vector{PlatformText::Replacement{parameter(platform, "gpu.power.idle"), "90 W", error, "x, or {y}"}});
  };
  put("2 W");
  EXPECT_THAT(platform.text(), HasSubstr("idle: {value: 90 W, error: 2 W, source: \"x, or {y}\", kind: fitted"));
  put("3 W");
  EXPECT_THAT(platform.text(), HasSubstr("idle: {value: 90 W, error: 3 W, source: \"x, or {y}\", kind: fitted"));
  put("");
  EXPECT_THAT(platform.text(), HasSubstr("idle: {value: 90 W, source: \"x, or {y}\", kind: fitted"));
}

TEST(PlatformText, ReachesParametersOverSeveralLines) {
  // The idle power of the file, its flow map spread over block lines.
  std::string text = content(h200_file);
  const std::size_t at = text.find("    idle: {");
  text.replace(
      at, text.find('\n', at) - at,
      "    idle:\n      value: 90 W\n      source: 'it''s, x'\n      kind: fitted\n      range: [60 W, 125 W]");
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "spread.yaml";
  std::ofstream(file) << text;
  PlatformText platform(file, folders);
  platform.replace(std::vector{PlatformText::Replacement{parameter(platform, "gpu.power.idle"), "91 W", "2 W", "y"}});
  EXPECT_THAT(platform.text(), HasSubstr("    idle:\n      value: 91 W\n      error: 2 W\n      source: \"y\"\n"));
}

TEST(PlatformText, AsksForASourceBesideAValue) {
  PlatformText platform(h200_file);
  sim::Parameter unknown = parameter(platform, "gpu.power.idle");
  unknown.path = "gpu.power.idles";
  try {
    platform.replace(std::vector{PlatformText::Replacement{unknown, "91 W", "", "x"}});
    FAIL() << "no fault was found";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gpu.power.idles: a parameter that is fitted is written as {value: ..."));
  }
}

TEST(PlatformText, ReplacesListsAtTheTop) {
  PlatformText platform(h200_file);
  const std::string before = platform.text();
  const std::string row =
      "  - {name: copy, smallest: {value: 4 B, source: x, kind: measured}, largest: {value: 1 GiB, "
      "source: x, kind: measured}}\n";
  platform.replace_list("fitted_to", {row});
  EXPECT_THAT(platform.text(), HasSubstr("\nfitted_to:\n" + row + "\nfabric:"));
  EXPECT_EQ(platform.spec().fitted_to.size(), 1u);
  platform.replace_list("fitted_to", {});
  EXPECT_THAT(platform.text(), testing::Not(HasSubstr("fitted_to:")));
  platform.replace_list("fitted_to", {row});
  EXPECT_TRUE(platform.text().ends_with("\n\nfitted_to:\n" + row)) << "behind everything else";
}

}  // namespace
}  // namespace c3sim::calibrate
