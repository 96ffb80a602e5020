#include "sim/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/output_file.h"
#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

using testing::HasSubstr;

constexpr std::string_view platform =
    "name: mi300x\n"
    "gpu:\n"
    "  sdma:\n"
    "    engines: {value: 16, source: 'node.csv: engines', kind: measured, range: [8, 64]}\n"
    "    rate: 48 GB/s\n"
    "    engine_map: [[0, 1], [1, 0]]\n"
    "ops:\n"
    "- bytes: 1KiB\n"
    "- bytes: 2KiB\n"
    "  note: \"it's \\\"here\\\" #1\\n\"\n";

std::string faults_of_setting(const std::vector<std::string>& assignments) {
  return faults_of(platform, read_small_platform, Sources::optional, assignments);
}

TEST(ConfigFile, MustExistAndBeAFile) {
  const std::filesystem::path folder = testing::TempDir();
  for (const auto& [path, fault] :
       {std::pair(folder / "no_such.yaml", "No such file or directory"), std::pair(folder, "it is a folder")}) {
    EXPECT_EQ(config_fault([&path = path] { Config::from_file(path); }), path.string() + ": cannot be read: " + fault);
  }
}

TEST(ConfigFile, IsNamedInFaults) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "config_test.yaml";
  write_file(path, "engines: 16\n");
  Config config = Config::from_file(path);
  EXPECT_EQ(config_fault([&config] { config.finish(); }), path.string() + ":1:1: engines: unknown key");
  write_file(path, std::string(2 << 20, 'a'));
  EXPECT_THROW(Config::from_file(path), ConfigError);
  std::filesystem::remove(path);
}

// The map of the whole text is one level, so that 63 lists are the most.
TEST(ConfigText, NestingWithoutEndIsRefusedAtOnce) {
  const auto nested = [](std::size_t lists) { return "a: " + std::string(lists, '[') + std::string(lists, ']'); };
  EXPECT_EQ(faults_of(nested(63), [](Section) {}), "f.yaml:1:1: a: unknown key");
  EXPECT_EQ(faults_of(nested(64), [](Section) {}), "f.yaml:1:67: not readable as YAML: more than 64 levels deep");
  for (const char* opening : {"[", "{", "- ", "? ", "{a: ", "[{"}) {
    std::string text = "a:\n";
    while (text.size() < (1 << 20) - 8) text += opening;
    EXPECT_NE(faults_of(text, [](Section) {}), "") << opening;
  }
}

TEST(ConfigError, ShowsAHundredFaultsAndCountsTheRest) {
  const ConfigError error(std::vector<Fault>(103, Fault{"f.yaml:1:1", "a", "is wrong"}));
  const std::string text = error.what();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_TRUE(text.ends_with("f.yaml:1:1: a: is wrong\nand 3 more"));
  EXPECT_EQ(error.faults().size(), 103u);
}

TEST(ConfigSet, ReplacesValuesParametersAndLists) {
  Config config = Config::from_text(platform, "f.yaml");
  config.set("gpu.sdma.engines=32");
  config.set(" gpu.sdma.rate = 64 GB/s ");
  config.set("gpu.sdma.engine_map=[[2, 3]]");
  config.set("ops[1].bytes=4KiB");
  config.set("ops[1].bytes=8KiB");  // the last one counts
  Section root = config.root();
  Section sdma = root.section("gpu").section("sdma");
  EXPECT_EQ(sdma.integer("engines", 1, 64), 32);
  EXPECT_EQ(sdma.quantity<BytesPerSecond>("rate", {BytesPerSecond(0), BytesPerSecond(1e12)}), 64.0_GBps);
  EXPECT_EQ(sdma.integer_matrix("engine_map", 0, 63), (std::vector<std::vector<int>>{{2, 3}}));
  EXPECT_EQ(root.list("ops")[1].quantity<Bytes>("bytes", {0_B, 1_MiB}), 8_KiB);
  const Parameter expected = {
      "gpu.sdma.engines", "32", "", "--set gpu.sdma.engines=32", "8", "64", "what_if", "", 4, "f.yaml"};
  EXPECT_EQ(config.parameters()[0], expected);
}

// A name that two rows have means neither of them.
TEST(ConfigSet, TakesTheNameOfARow) {
  Config config = Config::from_text(
      "ops:\n  - {name: a, bytes: 1KiB}\n  - {name: {value: b}, bytes: 2KiB}\n  - {name: c, bytes: 3KiB}\n"
      "  - {name: c, bytes: 4KiB}\n",
      "f.yaml");
  config.set("ops[a].bytes=5KiB");
  config.set("ops[b].bytes=6KiB");
  std::vector<Section> rows = config.root().list("ops");
  EXPECT_EQ(rows[0].quantity<Bytes>("bytes", {0_B, 1_MiB}), sim::Bytes(5120.0));
  EXPECT_EQ(rows[1].quantity<Bytes>("bytes", {0_B, 1_MiB}), sim::Bytes(6144.0));
  for (const std::string path : {"ops[c].bytes", "ops[d].bytes", "ops[].bytes"}) {
    Config other = Config::from_text("ops:\n  - {name: c, bytes: 3KiB}\n  - {name: c, bytes: 4KiB}\n", "f.yaml");
    other.set(path + "=5KiB");
    EXPECT_THROW(other.check(), ConfigError) << path;
  }
}

// A path is that of one value, as it is written and no other way.
TEST(ConfigSet, TakesNoOtherSpellingOfAPath) {
  for (const std::string path :
       {"ops[01].bytes", "ops[1]bytes", "ops.bytes", "ops[2].bytes", "ops[1", ".gpu.sdma.engines", "gpu.sdma.engines.",
        "gpu..sdma.engines", "gpu.sdma.engines.value", "gpu[0].sdma"}) {
    EXPECT_THAT(faults_of_setting({path + "=1"}), HasSubstr("the configuration has no such value")) << path;
  }
}

// What a configuration's parameters are apart from where they stand.
std::vector<Parameter> placeless_parameters(std::string_view text, Sources sources, std::string* resolved = nullptr,
                                            const std::vector<std::string>& assignments = {}) {
  Config config = Config::from_text(text, "f.yaml", sources);
  for (const std::string& assignment : assignments) config.set(assignment);
  read_small_platform(config.root());
  config.finish();
  if (resolved != nullptr) *resolved = config.resolved();
  std::vector<Parameter> parameters = config.parameters();
  for (Parameter& parameter : parameters) parameter.line = 0;
  return parameters;
}

TEST(ConfigResolved, KeepsEmptyAndNestedShapes) {
  const std::string text = "a: {}\nb: []\nc: ~\nd: [[{e: 1}], 'null', '-', -1]\n";
  const std::string once = Config::from_text(text, "f.yaml").resolved();
  EXPECT_EQ(once, "a: {}\nb: []\nc: ~\nd:\n  -\n    - e: 1\n  - \"null\"\n  - \"-\"\n  - -1\n");
  EXPECT_EQ(Config::from_text(once, "f.yaml").resolved(), once);
}

// Whatever a note says and whichever values are set, the resolved configuration reads back as the same parameters.
RC_GTEST_PROP(ConfigResolved, ReadsBackAsTheSameParameters, ()) {
  const auto note = *rc::gen::container<std::string>(rc::gen::element(
      'a', 'Z', '0', ' ', ':', '#', '"', '\'', '\\', '\n', '-', '[', ',', '{', '&', '*', '!', '%', '~', '?', '|'));
  const auto engines = *rc::gen::inRange(8, 65);
  const auto bytes = *rc::gen::inRange(0, 1 << 30);
  std::vector<std::string> assignments = {"ops[0].bytes=" + std::to_string(bytes) + "B",
                                          "gpu.sdma.engines=" + std::to_string(engines)};
  if (note.find_first_not_of(" \n") != std::string::npos) assignments.push_back("ops[1].note=" + note);
  std::string resolved;
  const auto parameters = placeless_parameters(platform, Sources::optional, &resolved, assignments);
  RC_ASSERT(placeless_parameters(resolved, Sources::optional) == parameters);
}

TEST(Config, SectionsSurviveAMove) {
  Config config = Config::from_text("a: 7", "f.yaml");
  Section root = config.root();
  Config moved = std::move(config);
  EXPECT_EQ(root.integer("a", 0, 9), 7);
  moved.finish();
  EXPECT_EQ(moved.parameters().size(), 1u);
}

}  // namespace
}  // namespace c3sim::sim
