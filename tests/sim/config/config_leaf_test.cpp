#include "sim/config/config_leaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

// The faults of an integer within [1, 64] written as the parameter on line 1, whose map begins at column 4.
std::string faults_of_parameter(const std::string& map, Sources sources = Sources::optional) {
  return faults_of(
      "k: " + map, [](Section root) { root.integer("k", 1, 64); }, sources);
}

TEST(Parameter, TellsWhereAValueComesFrom) {
  Config config = Config::from_text(
      "gpu:\n"
      "  engines: {value: 16, source: node.csv num_sdma_engines, kind: fitted, range: [8, 64], about: Copy engines.}\n"
      "  rate: 48 GB/s\n",
      "f.yaml");
  Section gpu = config.root().section("gpu");
  EXPECT_EQ(gpu.integer("engines", 1, 64), 16);
  gpu.rate("rate", {BytesPerSecond(0), BytesPerSecond(1e12)});
  config.finish();
  const std::vector<Parameter> expected = {
      {"gpu.engines", "16", "", "node.csv num_sdma_engines", "8", "64", "fitted", "Copy engines.", 2, "f.yaml", ""},
      {"gpu.rate", "48 GB/s", "B/s", "", "", "", "", "", 3, "f.yaml", ""}};
  EXPECT_EQ(config.parameters(), expected);
}

TEST(Parameter, HasSixKeysOnly) {
  EXPECT_EQ(faults_of_parameter("{value: 16, sorce: x}"),
            "f.yaml:1:16: k: unknown key 'sorce' of a parameter; did you mean 'source'?");
  EXPECT_EQ(faults_of_parameter("{val: 16}"),
            "f.yaml:1:4: k: a section where a value is due; a parameter is written {value: ..., source: ...}");
}

TEST(Parameter, HasAValue) {
  EXPECT_EQ(faults_of_parameter("{value: }"), "f.yaml:1:5: k: has no value");
  EXPECT_EQ(faults_of_parameter("~"), "f.yaml:1:1: k: has no value");
  EXPECT_EQ(faults_of_parameter("{value: {a: 1}}"), "f.yaml:1:12: k: a section where a value is due");
  EXPECT_EQ(faults_of_parameter("[{a: 1}]"), "f.yaml:1:4: k: a section where a value is due");
}

TEST(Parameter, IsOfAKnownKind) {
  EXPECT_EQ(faults_of_parameter("{value: 16, kind: mesured}"),
            "f.yaml:1:22: k: unknown kind 'mesured'; did you mean 'measured'?");
  for (const std::string kind : {"data_sheet", "measured", "what_if"}) {
    EXPECT_EQ(faults_of_parameter("{value: 16, kind: " + kind + "}"), "");
  }
}

TEST(Parameter, TellsItsSourceAsText) {
  EXPECT_EQ(faults_of_parameter("{value: 16, source: [a]}"), "f.yaml:1:16: k: source must be a text");
  EXPECT_EQ(faults_of_parameter("{value: 16, about: ''}"), "f.yaml:1:16: k: about must be a text");
  EXPECT_EQ(faults_of_parameter("{value: 16, kind: }"), "f.yaml:1:16: k: kind must be a text");
}

TEST(Parameter, NeedsARangeWhereItIsUncertain) {
  EXPECT_EQ(faults_of_parameter("{value: 16, kind: fitted}"), "f.yaml:1:4: k: kind fitted requires a range");
  EXPECT_EQ(faults_of_parameter("{value: 16, kind: assumed}"), "f.yaml:1:4: k: kind assumed requires a range");
  EXPECT_EQ(faults_of("k: {value: true, kind: assumed}", [](Section root) { root.flag("k"); }), "");
}

TEST(Parameter, LiesWithinItsRange) {
  EXPECT_EQ(faults_of_parameter("{value: 8, range: [8, 16]}"), "");
  EXPECT_EQ(faults_of_parameter("{value: 16, range: [8, 16]}"), "");
  EXPECT_EQ(faults_of_parameter("{value: 17, range: [8, 16]}"), "f.yaml:1:12: k: '17' lies outside its range [8, 16]");
  EXPECT_EQ(faults_of("k: {value: [9, 7], range: [8, 16]}", [](Section root) { root.integers("k", 0, 99); }),
            "f.yaml:1:16: k: '7' lies outside its range [8, 16]");
}

TEST(Parameter, HasARangeOfTwoLegalNumbers) {
  EXPECT_EQ(faults_of_parameter("{value: 9, range: [8]}"), "f.yaml:1:15: k: range must be [low, high]");
  EXPECT_EQ(faults_of_parameter("{value: 9, range: [8, [9]]}"), "f.yaml:1:15: k: range must be [low, high]");
  EXPECT_EQ(faults_of_parameter("{value: 9, range: 8}"), "f.yaml:1:15: k: range must be [low, high]");
  EXPECT_EQ(faults_of_parameter("{value: 9, range: [16, 8]}"), "f.yaml:1:23: k: the range ends below its beginning");
  EXPECT_EQ(faults_of_parameter("{value: 9, range: [0, x]}"),
            "f.yaml:1:23: k: low end of the range: '0' must lie between 1 and 64\n"
            "f.yaml:1:26: k: high end of the range: 'x' is not a whole decimal number such as 12 (no leading zeros)");
  EXPECT_EQ(faults_of("k: {value: a, range: [1, 2]}", [](Section root) { root.text("k"); }),
            "f.yaml:1:15: k: only a number has a range");
}

// The faults of a rate up to 1 TB/s written as the parameter on line 1, whose map begins at column 4.
std::string faults_of_rate(const std::string& map) {
  return faults_of("k: " + map, [](Section root) { root.rate("k", {BytesPerSecond(0), BytesPerSecond(1e12)}); });
}

TEST(Parameter, TellsItsStandardErrorAsWritten) {
  Config config = Config::from_text(
      "rate: {value: 396 GB/s, error: 1200 MB/s, kind: fitted, range: [350 GB/s, 450 GB/s]}\n"
      "share: {value: 0.5, error: 0.01, kind: measured, range: [0, 1]}\n"
      "time: {value: 3 us, error: 40 ns, kind: fitted, range: [1 us, 9 us]}\n",
      "f.yaml");
  config.root().rate("rate", {BytesPerSecond(0), BytesPerSecond(1e12)});
  config.root().number("share", 0.0, 1.0);
  config.root().time("time", {Time(0), Time(10'000'000)});
  config.finish();
  ASSERT_EQ(config.parameters().size(), 3U);
  EXPECT_EQ(config.parameters()[0].error, "1200 MB/s");
  EXPECT_EQ(config.parameters()[1].error, "0.01");
  EXPECT_EQ(config.parameters()[2].error, "40 ns");
  EXPECT_NE(config.resolved().find("error: 1200 MB/s"), std::string::npos) << config.resolved();
}

TEST(Parameter, HasAnErrorOfItsOwnUnitAboveZero) {
  const auto faults_of_error = [](const std::string& error) {
    return faults_of_rate("{value: 9 GB/s, error: " + error + ", kind: fitted, range: [1 GB/s, 10 GB/s]}");
  };
  EXPECT_EQ(faults_of_error("1 GB/s"), "");
  EXPECT_THAT(faults_of_error("1"), testing::StartsWith("f.yaml:1:27: k: error: '1' "));
  EXPECT_THAT(faults_of_error("1 us"), testing::StartsWith("f.yaml:1:27: k: error: '1 us' "));
  EXPECT_EQ(faults_of_error("0 GB/s"), "f.yaml:1:27: k: error: '0 GB/s' must be above 0");
  EXPECT_THAT(faults_of_error("-1 GB/s"), testing::StartsWith("f.yaml:1:27: k: error: '-1 GB/s' "));
  EXPECT_EQ(faults_of_error("[1 GB/s]"), "f.yaml:1:27: k: error: a single number is due here");
  EXPECT_EQ(faults_of("k: {value: 0.5, error: -0.1, kind: fitted, range: [0, 1]}",
                      [](Section root) { root.number("k", -1.0, 1.0); }),
            "f.yaml:1:24: k: error: '-0.1' must be above 0");
}

TEST(Parameter, HasAnErrorOnlyWhereMeasurementsGaveItOne) {
  EXPECT_EQ(faults_of_rate("{value: 9 GB/s, error: 1 GB/s, kind: assumed, range: [1 GB/s, 10 GB/s]}"),
            "f.yaml:1:20: k: only a number of the kind fitted, probed or measured has an error");
  EXPECT_EQ(faults_of_rate("{value: 9 GB/s, error: 1 GB/s}"),
            "f.yaml:1:20: k: only a number of the kind fitted, probed or measured has an error");
  EXPECT_EQ(faults_of_rate("{value: 9 GB/s, error: 1 GB/s, kind: measured}"),
            "f.yaml:1:20: k: an error requires a range, which the value never leaves");
  EXPECT_EQ(faults_of_parameter("{value: 9, error: 1, kind: fitted, range: [8, 16]}"),
            "f.yaml:1:22: k: a whole number has no error");
  EXPECT_EQ(faults_of("k: {value: [1, 2], error: 1, kind: fitted, range: [1, 2]}",
                      [](Section root) { root.numbers("k", 0.0, 9.0); }),
            "f.yaml:1:20: k: only a single number has an error");
  EXPECT_EQ(faults_of("k: {value: true, error: 1, kind: measured}", [](Section root) { root.flag("k"); }),
            "f.yaml:1:18: k: only a number has an error");
}

TEST(Parameter, LosesItsErrorWithItsValue) {
  const std::string rate = "k: {value: 9 GB/s, error: 1 GB/s, kind: fitted, range: [1 GB/s, 10 GB/s]}";
  const auto error_of = [](Config config) {
    config.root().rate("k", {BytesPerSecond(0), BytesPerSecond(1e12)});
    config.finish();
    return config.parameters().front().error;
  };
  Config assigned = Config::from_text(rate, "f.yaml");
  assigned.set("k=8 GB/s");
  EXPECT_EQ(error_of(assigned), "");
  for (const auto& [over, error] :
       std::vector<std::pair<std::string, std::string>>{{"k: 8 GB/s", ""},
                                                        {"k: {range: [2 GB/s, 10 GB/s]}", "1 GB/s"},
                                                        {"k: {value: 8 GB/s, error: 2 GB/s}", "2 GB/s"}}) {
    Config config = Config::from_text(over, "over.yaml");
    config.stand_on(Config::from_text(rate, "f.yaml"));
    EXPECT_EQ(error_of(config), error) << over;
  }
}

TEST(Parameter, TellsWhatAnAssumedValueMayBeInstead) {
  const auto read = [](const std::string& text) {
    Config config = Config::from_text(text, "f.yaml");
    const std::array<std::pair<std::string_view, int>, 3> words{{{"one", 1}, {"two", 2}, {"three", 3}}};
    config.root().choice<int>("k", words);
    config.finish();
    return config.parameters().at(0).alternatives;
  };
  EXPECT_THAT(read("k: {value: one, kind: assumed, alternatives: [two, three]}\n"),
              testing::ElementsAre("two", "three"));
  EXPECT_THAT(read("k: {value: one, kind: assumed}\n"), testing::IsEmpty());
  const auto faults = [&](const std::string& text) {
    try {
      read(text);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(faults("k: {value: one, kind: assumed, alternatives: [four]}\n"),
              testing::HasSubstr("k: alternative 'four' is not one of its words"));
  EXPECT_THAT(faults("k: {value: one, kind: measured, alternatives: [two]}\n"),
              testing::HasSubstr("k: only a value of the kind assumed or probed has alternatives"));
  EXPECT_THAT(read("k: {value: one, kind: probed, alternatives: [two]}\n"), testing::ElementsAre("two"));
  EXPECT_THAT(faults("k: {value: one, kind: probed, alternatives: [two, three]}\n"),
              testing::HasSubstr("k: a value of the kind probed has one alternative: what it is without probes"));
  for (const std::string none : {"two", "[]", "{a: b}"}) {
    EXPECT_THAT(faults("k: {value: one, kind: assumed, alternatives: " + none + "}\n"),
                testing::HasSubstr("k: alternatives must be a list of values"));
  }
}

TEST(Parameter, IsDemandedWhereSourcesAreRequired) {
  EXPECT_EQ(faults_of_parameter("{value: 16, source: data sheet, kind: data_sheet}", Sources::required), "");
  EXPECT_EQ(faults_of_parameter("16", Sources::required),
            "f.yaml:1:4: k: a bare value; write {value: ..., source: ..., kind: ...} here");
  EXPECT_EQ(faults_of_parameter("{value: 16}", Sources::required),
            "f.yaml:1:4: k: the parameter has no source\nf.yaml:1:4: k: the parameter has no kind");
  const auto read_flag = [](Section root) { root.flag("k"); };
  EXPECT_EQ(faults_of("k: true", read_flag, Sources::required),
            "f.yaml:1:4: k: a bare value; write {value: ..., source: ..., kind: ...} here");
  const auto read_labels = [](Section root) {
    root.text("k");
    root.names("l");
  };
  EXPECT_EQ(faults_of("k: MI300X\nl: [a]", read_labels, Sources::required), "");
}

}  // namespace
}  // namespace c3sim::sim
