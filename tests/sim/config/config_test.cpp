#include "sim/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/output_file.h"
#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

using testing::HasSubstr;

// A text or an assignment, and the faults that are found with it.
struct FaultyInput {
  std::string input;
  std::string faults;
};

// A platform in small: one accessor of each shape.
void read_platform(Section root) {
  root.name("name");
  Section sdma = root.section("gpu").section("sdma");
  sdma.integer("engines", 1, 64);
  sdma.rate("rate", {BytesPerSecond(0), BytesPerSecond(1e12)});
  sdma.integer_matrix("engine_map", 0, 63);
  for (Section op : root.list("ops")) {
    op.bytes("bytes", {0_B, 1024_GiB});
    op.text("note", "");
  }
}

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
  return faults_of(platform, read_platform, Sources::optional, assignments);
}

TEST(ConfigFile, MustExistAndBeAFile) {
  const std::filesystem::path folder = testing::TempDir();
  for (const auto& [path, fault] :
       {std::pair(folder / "no_such.yaml", "No such file or directory"), std::pair(folder, "it is a folder")}) {
    try {
      Config::from_file(path);
      ADD_FAILURE() << path;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), path.string() + ": cannot be read: " + fault);
    }
  }
}

TEST(ConfigFile, IsNamedInFaults) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "config_test.yaml";
  write_file(path, "engines: 16\n");
  Config config = Config::from_file(path);
  try {
    config.finish();
    ADD_FAILURE() << "engines was never read";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.faults(), (std::vector<Fault>{{path.string() + ":1:1", "engines", "unknown key"}}));
  }
  write_file(path, std::string(2 << 20, 'a'));
  EXPECT_THROW(Config::from_file(path), ConfigError);
  std::filesystem::remove(path);
}

TEST(ConfigText, IsOneDocumentOfKeysAndValues) {
  // The map of the whole text is one level, so that 63 lists are the most.
  const auto nested = [](std::size_t lists) { return "a: " + std::string(lists, '[') + std::string(lists, ']'); };
  const std::vector<FaultyInput> inputs{
      {"[1, 2]", "f.yaml:1:1: not a map of keys (key: value)"},
      {"engines", "f.yaml:1:1: not a map of keys (key: value)"},
      {"# nothing but a comment\n", "f.yaml:1:1: not a map of keys (key: value)"},
      {"", "f.yaml:1:1: empty"},
      {std::string("a: \0", 4), "f.yaml:1:4: a NUL byte (a binary file?)"},
      {"a:\n\tb: 1", "f.yaml:2:1: a tab; use blanks"},
      {"a: 1\nb: [1, 2\n", "f.yaml:3:1: not readable as YAML: end of sequence flow not found"},
      {"a: \"x\\0\"\n", "f.yaml:1:4: a: an escape makes a NUL byte (a binary file?)"},
      {"a: \"\\t\"\n", "f.yaml:1:4: a: an escape makes a tab; use blanks"},
      {"a: 1\nb: {c: 1, c: 2}\na: 3\n",
       "f.yaml:2:11: b.c: the key is given twice\nf.yaml:3:1: a: the key is given twice"},
      {"a.b: 1\n", "f.yaml:1:1: this key is not a name (letters, digits, '_' and '-')"},
      {"a: {: 1}\n", "f.yaml:1:5: a: a key is missing before ':'"},
      {"[a]: 1\n", "f.yaml:1:1: not readable as YAML: a key must be a name, not a list or a map"},
      {"a: &x 1\nb: *x\nc: !!int 3\n",
       "f.yaml:1:4: a: anchors (&name) are not part of a configuration\n"
       "f.yaml:2:4: b: aliases (*name) are not part of a configuration; repeat the value\n"
       "f.yaml:3:4: c: tags (!name) are not part of a configuration"},
      {"a: 1\n---\nb: 2\n", "f.yaml:2:1: not readable as YAML: a second document; a configuration is one"},
      {nested(63), "f.yaml:1:1: a: unknown key"},
      {nested(64), "f.yaml:1:67: not readable as YAML: more than 64 levels deep"}};
  for (const auto& [text, faults] : inputs) EXPECT_EQ(faults_of(text, [](Section) {}), faults) << text;
  EXPECT_THAT(faults_of("a: 1\n b: 2\n", [](Section) {}), HasSubstr("f.yaml:2:3: not readable as YAML: "));
}

TEST(ConfigText, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(faults_of("\xEF\xBB\xBF"
                      "a: 1",
                      [](Section root) { root.integer("a", 0, 9); }),
            "");
}

TEST(ConfigText, QuotesCloseOnTheirLine) {
  const auto read = [](Section root) { root.text("a"); };
  for (const std::string text : {"a: 'x\nb: 1\n", "a: 'x''\n", "a: \"x\\\"\n", "a: \"x\n  y\"\n"}) {
    EXPECT_EQ(faults_of(text, read), "f.yaml:1:4: a: the quote is not closed on its line") << text;
  }
  for (const std::string text : {"a: 'it''s'\n", "a: \"\\\"x\\\\\"\n"}) EXPECT_EQ(faults_of(text, read), "") << text;
}

TEST(ConfigText, NestingWithoutEndIsRefusedAtOnce) {
  for (const char* opening : {"[", "{", "- ", "? ", "{a: ", "[{"}) {
    std::string text = "a:\n";
    while (text.size() < (1 << 20) - 8) text += opening;
    EXPECT_NE(faults_of(text, [](Section) {}), "") << opening;
  }
}

TEST(Config, UnknownKeysSuggestWhatWasAskedFor) {
  const auto read = [](Section root) {
    root.integer("engines", 1, 64, 16);
    root.integer("queues", 1, 64, 8);
  };
  EXPECT_EQ(faults_of("enignes: 4\nfoo: 1\n", read),
            "f.yaml:1:1: enignes: unknown key; did you mean 'engines'?\n"
            "f.yaml:2:1: foo: unknown key; known are: engines, queues");
}

// A key that the reader knows and passed over for another is not suggested in its own place.
TEST(Config, AKeyThatAnotherRulesOutIsNotUnknown) {
  const auto read = [](Section root) {
    if (root.has("gemm") && root.has("copy")) root.integer("copy", 0, 9);
  };
  EXPECT_EQ(faults_of("copy: 1\ngemm: 2\n", read), "f.yaml:2:1: gemm: has no meaning beside the other keys here");
}

TEST(Config, ReportsAllFaultsOfAFileInItsOrder) {
  const auto read = [](Section root) {
    root.flag("c");
    root.integer("a", 0, 9);
    root.integer("a", 0, 9);  // read twice, told once
    root.bytes("b", {0_B, 1_KiB});
  };
  EXPECT_EQ(faults_of("a: x\nb: 12\nc: 1\n", read),
            "f.yaml:1:4: a: 'x' is not a whole decimal number such as 12 (no leading zeros)\n"
            "f.yaml:2:4: b: '12' needs a unit: write 896MiB, 1GB or 512B\n"
            "f.yaml:3:4: c: '1' is not one of false, true");
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
  EXPECT_EQ(sdma.rate("rate", {BytesPerSecond(0), BytesPerSecond(1e12)}), 64.0_GBps);
  EXPECT_EQ(sdma.integer_matrix("engine_map", 0, 63), (std::vector<std::vector<int>>{{2, 3}}));
  EXPECT_EQ(root.list("ops")[1].bytes("bytes", {0_B, 1_MiB}), 8_KiB);
  const Parameter expected = {
      "gpu.sdma.engines", "32", "", "--set gpu.sdma.engines=32", "8", "64", "what_if", "", 4, "f.yaml"};
  EXPECT_EQ(config.parameters()[0], expected);
}

TEST(ConfigSet, IsCheckedLikeTheFileAndNeedsAPathThatTheFileHas) {
  const std::vector<FaultyInput> inputs{
      {"gpu.sdma.engines=65", "gpu.sdma.engines: '65' must lie between 1 and 64"},
      {"gpu.sdma.enignes=32",
       "gpu.sdma.enignes: the configuration has no such value; did you mean 'gpu.sdma.engines'?"},
      {"hbm=1", "hbm: the configuration has no such value"},
      {"gpu.sdma=1", "gpu.sdma: is a section; its values are: gpu.sdma.engines, gpu.sdma.rate, gpu.sdma.engine_map"},
      {"ops=1", "ops: is a section; its values are: ops[0].bytes, ops[1].bytes, ops[1].note"},
      {"gpu.sdma.engines", "gpu.sdma.engines: an assignment reads path=value"},
      {"=3", "an assignment reads path=value"},
      {"gpu.sdma.rate=", "gpu.sdma.rate: empty"},
      {"gpu.sdma.engine_map=3", "gpu.sdma.engine_map: a list is due here, as in [1, 2]"},
      {"gpu.sdma.engine_map=[[!x 1]]", "gpu.sdma.engine_map[0][0]: tags (!name) are not part of a configuration"}};
  for (const auto& [assignment, fault] : inputs) {
    EXPECT_EQ(faults_of_setting({assignment}), "--set " + assignment + ": " + fault);
  }
  EXPECT_THAT(faults_of_setting({"gpu.sdma.engine_map=[1"}),
              HasSubstr("--set gpu.sdma.engine_map=[1: gpu.sdma.engine_map: not readable as YAML: "));
  EXPECT_EQ(
      faults_of_setting({"gpu.sdma.rate=48", "gpu.sdma.engines=x"}),
      "--set gpu.sdma.rate=48: gpu.sdma.rate: '48' needs a unit: write 48GB/s, 1.2TB/s or 64GiB/s\n"
      "--set gpu.sdma.engines=x: gpu.sdma.engines: 'x' is not a whole decimal number such as 12 (no leading zeros)");
}

// The limits are what the model can do; the range is what the machine may be: a what-if question may leave it.
TEST(ConfigSet, WarnsOutsideTheRangeOfTheParameter) {
  Config config = Config::from_text("engines: {value: 16, range: [8, 64]}\n", "f.yaml");
  config.set("engines=4");
  EXPECT_EQ(config.root().integer("engines", 1, 64), 4);
  config.finish();
  ASSERT_EQ(config.warnings().size(), 1u);
  EXPECT_EQ(config.warnings()[0], (Fault{"--set engines=4", "engines", "'4' lies outside its range [8, 64]"}));
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
  EXPECT_EQ(rows[0].bytes("bytes", {0_B, 1_MiB}), sim::Bytes(5120.0));
  EXPECT_EQ(rows[1].bytes("bytes", {0_B, 1_MiB}), sim::Bytes(6144.0));
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
  read_platform(config.root());
  config.finish();
  if (resolved != nullptr) *resolved = config.resolved();
  std::vector<Parameter> parameters = config.parameters();
  for (Parameter& parameter : parameters) parameter.line = 0;
  return parameters;
}

TEST(ConfigResolved, IsYamlWithTheAssignments) {
  std::string resolved;
  placeless_parameters(platform, Sources::optional, &resolved, {"gpu.sdma.engines=32", "gpu.sdma.rate=64 GB/s"});
  EXPECT_EQ(resolved,
            "name: mi300x\n"
            "gpu:\n"
            "  sdma:\n"
            "    engines:\n"
            "      value: 32\n"
            "      source: \"--set gpu.sdma.engines=32\"\n"
            "      kind: what_if\n"
            "      range: [8, 64]\n"
            "    rate:\n"
            "      value: 64 GB/s\n"
            "      source: \"--set gpu.sdma.rate=64 GB/s\"\n"
            "      kind: what_if\n"
            "    engine_map: [[0, 1], [1, 0]]\n"
            "ops:\n"
            "  - bytes: 1KiB\n"
            "  - bytes: 2KiB\n"
            "    note: \"it's \\\"here\\\" #1\\n\"\n");
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
