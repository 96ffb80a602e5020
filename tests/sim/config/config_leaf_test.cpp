#include "sim/config/config_leaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

using ReadParameter = std::function<void(Section)>;
const ReadParameter integer_k = [](Section root) { root.integer("k", 1, 64); };
const ReadParameter rate_k = [](Section root) { root.rate("k", {BytesPerSecond(0), BytesPerSecond(1e12)}); };
const ReadParameter flag_k = [](Section root) { root.flag("k"); };

// The faults of the parameter k on line 1, whose map begins at column 4.
struct FaultyParameter {
  std::string map;
  std::string faults;
  ReadParameter read = integer_k;
};
void expect_faults(const std::vector<FaultyParameter>& parameters, Sources sources = Sources::optional) {
  for (const auto& [map, faults, read] : parameters) EXPECT_EQ(faults_of("k: " + map, read, sources), faults) << map;
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

TEST(Parameter, HasAValueAndFiveMoreKeysOfTheirKinds) {
  expect_faults(
      {{"{value: 16, sorce: x}", "f.yaml:1:16: k: unknown key 'sorce' of a parameter; did you mean 'source'?"},
       {"{val: 16}", "f.yaml:1:4: k: a section where a value is due; a parameter is written {value: ..., source: ...}"},
       {"{value: }", "f.yaml:1:5: k: has no value"},
       {"~", "f.yaml:1:1: k: has no value"},
       {"{value: {a: 1}}", "f.yaml:1:12: k: a section where a value is due"},
       {"[{a: 1}]", "f.yaml:1:4: k: a section where a value is due"},
       {"{value: 16, kind: mesured}", "f.yaml:1:22: k: unknown kind 'mesured'; did you mean 'measured'?"},
       {"{value: 16, kind: data_sheet}", ""},
       {"{value: 16, kind: measured}", ""},
       {"{value: 16, kind: what_if}", ""},
       {"{value: 16, source: [a]}", "f.yaml:1:16: k: source must be a text"},
       {"{value: 16, about: ''}", "f.yaml:1:16: k: about must be a text"},
       {"{value: 16, kind: }", "f.yaml:1:16: k: kind must be a text"}});
}

TEST(Parameter, LiesWithinItsRangeAndNeedsOneWhereItIsUncertain) {
  const ReadParameter integers = [](Section root) { root.integers("k", 0, 99); };
  const ReadParameter text = [](Section root) { root.text("k"); };
  expect_faults(
      {{"{value: 16, kind: fitted}", "f.yaml:1:4: k: kind fitted requires a range"},
       {"{value: 16, kind: assumed}", "f.yaml:1:4: k: kind assumed requires a range"},
       {"{value: true, kind: assumed}", "", flag_k},
       {"{value: 8, range: [8, 16]}", ""},
       {"{value: 16, range: [8, 16]}", ""},
       {"{value: 17, range: [8, 16]}", "f.yaml:1:12: k: '17' lies outside its range [8, 16]"},
       {"{value: [9, 7], range: [8, 16]}", "f.yaml:1:16: k: '7' lies outside its range [8, 16]", integers},
       {"{value: 9, range: [8]}", "f.yaml:1:15: k: range must be [low, high]"},
       {"{value: 9, range: [8, [9]]}", "f.yaml:1:15: k: range must be [low, high]"},
       {"{value: 9, range: 8}", "f.yaml:1:15: k: range must be [low, high]"},
       {"{value: 9, range: [16, 8]}", "f.yaml:1:23: k: the range ends below its beginning"},
       {"{value: 9, range: [0, x]}",
        "f.yaml:1:23: k: low end of the range: '0' must lie between 1 and 64\n"
        "f.yaml:1:26: k: high end of the range: 'x' is not a whole decimal number such as 12 (no leading zeros)"},
       {"{value: a, range: [1, 2]}", "f.yaml:1:15: k: only a number has a range", text}});
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
  const auto map_of = [](const std::string& error) {
    return "{value: 9 GB/s, error: " + error + ", kind: fitted, range: [1 GB/s, 10 GB/s]}";
  };
  const ReadParameter number = [](Section root) { root.number("k", -1.0, 1.0); };
  expect_faults({{map_of("1 GB/s"), "", rate_k},
                 {map_of("0 GB/s"), "f.yaml:1:27: k: error: '0 GB/s' must be above 0", rate_k},
                 {map_of("[1 GB/s]"), "f.yaml:1:27: k: error: a single number is due here", rate_k},
                 {"{value: 0.5, error: -0.1, kind: fitted, range: [0, 1]}",
                  "f.yaml:1:24: k: error: '-0.1' must be above 0", number}});
  for (const std::string error : {"1", "1 us", "-1 GB/s"}) {
    EXPECT_THAT(faults_of("k: " + map_of(error), rate_k),
                testing::StartsWith("f.yaml:1:27: k: error: '" + error + "' "));
  }
}

TEST(Parameter, HasAnErrorOnlyWhereMeasurementsGaveItOne) {
  const std::string kinds = "f.yaml:1:20: k: only a number of the kind fitted, probed or measured has an error";
  const ReadParameter numbers = [](Section root) { root.numbers("k", 0.0, 9.0); };
  expect_faults({{"{value: 9 GB/s, error: 1 GB/s, kind: assumed, range: [1 GB/s, 10 GB/s]}", kinds, rate_k},
                 {"{value: 9 GB/s, error: 1 GB/s}", kinds, rate_k},
                 {"{value: 9 GB/s, error: 1 GB/s, kind: measured}",
                  "f.yaml:1:20: k: an error requires a range, which the value never leaves", rate_k},
                 {"{value: 9, error: 1, kind: fitted, range: [8, 16]}", "f.yaml:1:22: k: a whole number has no error"},
                 {"{value: [1, 2], error: 1, kind: fitted, range: [1, 2]}",
                  "f.yaml:1:20: k: only a single number has an error", numbers},
                 {"{value: true, error: 1, kind: measured}", "f.yaml:1:18: k: only a number has an error", flag_k}});
}

TEST(Parameter, LosesItsErrorWithItsValue) {
  const std::string rate = "k: {value: 9 GB/s, error: 1 GB/s, kind: fitted, range: [1 GB/s, 10 GB/s]}";
  const auto error_of = [](Config config) {
    rate_k(config.root());
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
  const std::array<std::pair<std::string_view, int>, 3> words{{{"one", 1}, {"two", 2}, {"three", 3}}};
  const ReadParameter word = [words](Section root) { root.choice<int>("k", words); };
  const auto alternatives = [&word](const std::string& map) {
    Config config = Config::from_text("k: " + map, "f.yaml");
    word(config.root());
    config.finish();
    return config.parameters().at(0).alternatives;
  };
  EXPECT_THAT(alternatives("{value: one, kind: assumed, alternatives: [two, three]}"),
              testing::ElementsAre("two", "three"));
  EXPECT_THAT(alternatives("{value: one, kind: probed, alternatives: [two]}"), testing::ElementsAre("two"));
  EXPECT_THAT(alternatives("{value: one, kind: assumed}"), testing::IsEmpty());
  for (const auto& [rest, fault] : std::vector<std::pair<std::string, std::string>>{
           {"kind: assumed, alternatives: [four]", "alternative 'four' is not one of its words"},
           {"kind: measured, alternatives: [two]", "only a value of the kind assumed or probed has alternatives"},
           {"kind: probed, alternatives: [two, three]",
            "a value of the kind probed has one alternative: what it is without probes"},
           {"kind: assumed, alternatives: two", "alternatives must be a list of values"},
           {"kind: assumed, alternatives: []", "alternatives must be a list of values"},
           {"kind: assumed, alternatives: {a: b}", "alternatives must be a list of values"}}) {
    EXPECT_THAT(faults_of("k: {value: one, " + rest + "}", word), testing::HasSubstr("k: " + fault));
  }
}

TEST(Parameter, IsDemandedWhereSourcesAreRequired) {
  const std::string bare = "f.yaml:1:4: k: a bare value; write {value: ..., source: ..., kind: ...} here";
  const ReadParameter labels = [](Section root) {
    root.text("k");
    root.names("l");
  };
  expect_faults(
      {{"{value: 16, source: data sheet, kind: data_sheet}", ""},
       {"16", bare},
       {"{value: 16}", "f.yaml:1:4: k: the parameter has no source\nf.yaml:1:4: k: the parameter has no kind"},
       {"true", bare, flag_k},
       {"MI300X\nl: [a]", "", labels}},
      Sources::required);
}

}  // namespace
}  // namespace c3sim::sim
