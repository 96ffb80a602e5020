// Sections and parameters of a configuration: what their accessors read, and what they say of what they cannot.
#include "sim/config/config_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/config_leaf.h"
#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

using namespace std::string_literals;

enum class Dispatch { oldest_first, rotation };
constexpr std::array<std::pair<std::string_view, Dispatch>, 2> dispatches = {
    {{"oldest_first", Dispatch::oldest_first}, {"rotation", Dispatch::rotation}}};

constexpr Limits<Bytes> any_size{0_B, 1024_GiB};

// What one accessor answers to `key: <yaml>`.
template <class Read>
auto value_of(const std::string& yaml, Read read) {
  Config config = Config::from_text("key: " + yaml, "f.yaml");
  auto value = read(config.root());
  config.finish();
  return value;
}

// Accessors of the key `key`: of a quantity within limits, of a number between two, of all else.
template <class T>
auto within(T (Section::*read)(std::string_view, Limits<T>, std::optional<T>), std::type_identity_t<Limits<T>> limits) {
  return [read, limits](Section s) { return (s.*read)("key", limits, {}); };
}
template <class T>
auto between(T (Section::*read)(std::string_view, T, T, std::optional<T>), std::type_identity_t<T> low,
             std::type_identity_t<T> high) {
  return [read, low, high](Section s) { return (s.*read)("key", low, high, {}); };
}
template <class T, class N>
auto between(T (Section::*read)(std::string_view, N, N), std::type_identity_t<N> low, std::type_identity_t<N> high) {
  return [read, low, high](Section s) { return (s.*read)("key", low, high); };
}
const auto key_flag = [](Section s) { return s.flag("key"); };
const auto key_text = [](Section s) { return s.text("key"); };
const auto key_texts = [](Section s) { return s.texts("key"); };
const auto key_name = [](Section s) { return s.name("key"); };
const auto key_names = [](Section s) { return s.names("key"); };
const auto key_choice = [](Section s) { return s.choice<Dispatch>("key", dispatches); };

TEST(Section, ReadsEveryKindOfValue) {
  EXPECT_EQ(value_of("896MiB", within(&Section::bytes, any_size)), 896_MiB);
  EXPECT_EQ(value_of("48 GB/s", within(&Section::rate, {0.0_GBps, 100.0_GBps})), 48.0_GBps);
  EXPECT_EQ(value_of("2.2us", within(&Section::time, {0_ns, 10_us})), 2200_ns);
  EXPECT_EQ(value_of("2.1GHz", within(&Section::frequency, {Hertz(0), Hertz(1e10)})), Hertz(2.1e9));
  EXPECT_EQ(value_of("750W", within(&Section::power, {Watts(0), Watts(1e4)})), Watts(750));
  EXPECT_EQ(value_of("62pJ/B", within(&Section::energy_per_byte, {JoulesPerByte(0), JoulesPerByte(1)})),
            JoulesPerByte(62e-12));
  EXPECT_EQ(value_of("400fJ/flop", within(&Section::energy_per_flop, {JoulesPerFlop(0), JoulesPerFlop(1)})),
            JoulesPerFlop(400e-15));
  EXPECT_EQ(value_of("1307TFLOP/s", within(&Section::flop_rate, {FlopsPerSecond(0), FlopsPerSecond(1e16)})),
            FlopsPerSecond(1307e12));
  EXPECT_EQ(value_of("0.85", between(&Section::number, 0, 1)), 0.85);
  EXPECT_EQ(value_of("-3", between(&Section::integer, -8, 8)), -3);
  EXPECT_TRUE(value_of("true", key_flag));
  EXPECT_FALSE(value_of("false", key_flag));
  EXPECT_EQ(value_of("'eight GPUs, fully connected'", key_text), "eight GPUs, fully connected");
  EXPECT_EQ(value_of("mi300x", key_name), "mi300x");
  EXPECT_EQ(value_of("rotation", key_choice), Dispatch::rotation);
  EXPECT_EQ(value_of("[0.5, 1]", between(&Section::numbers, 0, 1)), (std::vector{0.5, 1.0}));
  EXPECT_EQ(value_of("[8, 16]", between(&Section::integers, 0, 99)), (std::vector{8, 16}));
  EXPECT_EQ(value_of("[c3_sp, conccl]", key_names), (std::vector{"c3_sp"s, "conccl"s}));
  EXPECT_EQ(value_of("[[0, 1], [1, 0]]", between(&Section::integer_matrix, 0, 1)),
            (std::vector<std::vector<int>>{{0, 1}, {1, 0}}));
  EXPECT_TRUE(value_of("[]", between(&Section::integers, 0, 9)).empty());
}

TEST(Section, ReadsOneTextOrSeveral) {
  EXPECT_EQ(value_of("gemm_*", key_texts), (std::vector{"gemm_*"s}));
  EXPECT_EQ(value_of("[nccl, 'a b', \"-\", 8]", key_texts), (std::vector{"nccl"s, "a b"s, "-"s, "8"s}));
  EXPECT_TRUE(value_of("[]", key_texts).empty());
  EXPECT_EQ(value_of("''", key_texts), (std::vector{""s}));
}

TEST(Section, TellsSectionsFromValuesAndLists) {
  Config config = Config::from_text("a: {x: 1}\nb: 1\nc: [1]\nd: [{x: 1}]\n", "f.yaml");
  Section root = config.root();
  EXPECT_TRUE(root.holds_section("a"));
  for (const char* const key : {"b", "c", "d", "absent"}) EXPECT_FALSE(root.holds_section(key)) << key;
}

TEST(Section, AskingWhetherAKeyHoldsASectionDoesNotReadIt) {
  EXPECT_NE(faults_of("a: {x: 1}\n", [](Section s) { s.holds_section("a"); }), "");
  EXPECT_EQ(faults_of("a: {x: 1}\n",
                      [](Section s) {
                        if (s.holds_section("a")) s.section("a").text("x");
                      }),
            "");
}

TEST(Section, WalksSectionsAndLists) {
  Config config = Config::from_text("gpu:\n  cus: 304\nops:\n- {m: 1}\n- {m: 2}\n", "f.yaml");
  Section root = config.root();
  EXPECT_EQ(root.keys(), (std::vector{"gpu"s, "ops"s}));
  EXPECT_TRUE(root.has("gpu"));
  EXPECT_FALSE(root.has("fabric"));
  EXPECT_EQ(root.section("gpu").integer("cus", 1, 1000), 304);
  std::vector<Section> ops = root.list("ops");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[1].path(), "ops[1]");
  EXPECT_EQ(ops[0].integer("m", 0, 9) + ops[1].integer("m", 0, 9), 3);
  config.finish();
}

TEST(Section, AbsentKeysTakeTheirFallback) {
  Config config = Config::from_text("other: 1", "f.yaml");
  Section root = config.root();
  EXPECT_EQ(root.bytes("size", any_size, 4_MiB), 4_MiB);
  EXPECT_EQ(root.rate("rate", {0.0_GBps, 1.0_GBps}, 0.5_GBps), 0.5_GBps);
  EXPECT_EQ(root.time("delay", {0_ns, 1_us}, 5_ns), 5_ns);
  EXPECT_EQ(root.number("share", 0, 1, 0.25), 0.25);
  EXPECT_EQ(root.integer("count", 0, 9, 7), 7);
  EXPECT_TRUE(root.flag("on", true));
  EXPECT_EQ(root.text("note", "none"), "none");
  EXPECT_EQ(root.name("name", "x"), "x");
  EXPECT_EQ(root.choice<Dispatch>("dispatch", dispatches, Dispatch::rotation), Dispatch::rotation);
  root.integer("other", 0, 9);
  config.finish();
  EXPECT_EQ(config.parameters().size(), 1u);
}

struct Refusal {
  std::string yaml;
  std::function<void(Section)> read;
  std::string fault;
};

// The value of `key: <yaml>` stands at line 1, column 6.
void expect_refusals(const std::vector<Refusal>& refusals, const std::string& place) {
  for (const auto& [yaml, read, fault] : refusals) {
    EXPECT_EQ(faults_of("key: " + yaml, read), place + fault) << yaml;
  }
}

TEST(Section, LimitsIncludeTheirEndsAndAreToldInTheUnitsOfPeople) {
  EXPECT_EQ(value_of("1", between(&Section::integer, 1, 64)), 1);
  EXPECT_EQ(value_of("64", between(&Section::integer, 1, 64)), 64);
  expect_refusals({{"65", between(&Section::integer, 1, 64), "'65' must lie between 1 and 64"},
                   {"0", between(&Section::integer, 1, 64), "'0' must lie between 1 and 64"},
                   {"2GiB", within(&Section::bytes, {1_KiB, 1_GiB}), "'2GiB' must lie between 1KiB and 1GiB"},
                   {"1s", within(&Section::time, {1_ns, 10_us}), "'1s' must lie between 1ns and 10us"},
                   {"900W", within(&Section::power, {Watts(1), Watts(800)}), "'900W' must lie between 1 W and 800 W"},
                   {"1.5", between(&Section::number, 0, 1), "'1.5' must lie between 0 and 1"},
                   {"0GB/s", within(&Section::rate, {BytesPerSecond(1e6), BytesPerSecond(1e16)}),
                    "'0GB/s' must lie between 1 MB/s and 10000 TB/s"},
                   {"1kHz", within(&Section::frequency, {Hertz(1.32e8), Hertz(2.1e9)}),
                    "'1kHz' must lie between 132 MHz and 2.1 GHz"},
                   {"1J/B", within(&Section::energy_per_byte, {JoulesPerByte(0.0), JoulesPerByte(1e-6)}),
                    "'1J/B' must lie between 0 pJ/B and 1 uJ/B"}},
                  "f.yaml:1:6: key: ");
}

TEST(Section, RefusesAValueThatIsNotWhatIsDue) {
  expect_refusals(
      {{"4096", within(&Section::bytes, any_size), "'4096' needs a unit: write 896MiB, 1GB or 512B"},
       {"5 GB", within(&Section::time, {0_ns, 1_us}),
        "'5 GB' is a size, but a time is needed: write 2.2us, 450ns or 1ms"},
       {"010", between(&Section::integer, 0, 99), "'010' is not a whole decimal number such as 12 (no leading zeros)"},
       {".inf", between(&Section::number, 0, 99),
        "'.inf' is not a decimal number such as 12, 0.5 or 1e-3 (no leading zeros)"},
       {"yes", key_flag, "'yes' is not one of false, true"},
       {"rotatoin", key_choice, "'rotatoin' is not one of oldest_first, rotation; did you mean 'rotation'?"},
       {"random", key_choice, "'random' is not one of oldest_first, rotation"},
       {"a b", key_name, "'a b' is not a name (letters, digits, '_' and '-', at most 64)"},
       {"[1]", between(&Section::integer, 0, 9), "a list where a single value is due"},
       {"[a]", key_flag, "a list where a single value is due"},
       {"[a]", key_text, "a list where a single value is due"},
       {"1", between(&Section::integers, 0, 9), "a list of numbers is due here, as in [1, 2]"},
       {"1", between(&Section::integer_matrix, 0, 9), "a list of lists is due here, as in [[0, 1], [1, 0]]"},
       {"a", key_names, "a list of names is due here, as in [a, b]"},
       {"{a: 1}", key_texts, "a section where a value is due; a parameter is written {value: ..., source: ...}"}},
      "f.yaml:1:6: key: ");
  expect_refusals(
      {{"[ok, a b]", key_names, "1:11: key: 'a b' is not a name (letters, digits, '_' and '-', at most 64)"},
       {"[[1]]", between(&Section::numbers, 0, 9), "1:7: key: a single number is due here"},
       {"[1]", between(&Section::integer_matrix, 0, 9), "1:7: key: a list of numbers is due here, as in [1, 2]"},
       {"[[1, 2], [3]]", between(&Section::integer_matrix, 0, 9),
        "1:15: key: its length differs from that of the first row"},
       {"[[a]]", key_names, "1:7: key: a single name is due here"},
       {"[a, [b]]", key_texts, "1:10: key: a single text is due here"},
       {"", key_texts, "1:1: key: has no value"},
       {"1", [](Section s) { s.texts("kye"); },
        "1:1: kye: is missing\nf.yaml:1:1: key: unknown key; did you mean 'kye'?"},
       {"1", [](Section s) { s.section("key"); }, "1:1: key: a section (keys indented below) is due here"},
       {"1", [](Section s) { s.list("key"); }, "1:1: key: a list of sections is due here"},
       {"[{}, 1]", [](Section s) { s.list("key"); }, "1:11: key[1]: a section is due here"},
       {"[1, 99, x]", between(&Section::integers, 0, 9),
        "1:10: key: '99' must lie between 0 and 9\n"
        "f.yaml:1:14: key: 'x' is not a whole decimal number such as 12 (no leading zeros)"}},
      "f.yaml:");
}

TEST(Section, MissingKeysArePlacedAtTheirSection) {
  const auto read = [](Section root) {
    Section gpu = root.section("gpu");
    gpu.integer("cus", 1, 999);
    gpu.section("sdma").integer("engines", 1, 64);
    root.list("ops");
  };
  // Of what lies in a section that is missing altogether, nothing more is said.
  EXPECT_EQ(faults_of("x: 1\ngpu: {}", read),
            "f.yaml:1:1: ops: is missing\n"
            "f.yaml:1:1: x: unknown key; known are: gpu, ops\n"
            "f.yaml:2:1: gpu.cus: is missing\n"
            "f.yaml:2:1: gpu.sdma: is missing");
}

TEST(Section, AModelsOwnFaultStandsAtTheKey) {
  const auto read = [](Section root) {
    Section gpu = root.section("gpu");
    if (gpu.integer("xcds", 1, 8) != 8) gpu.fault("xcds", "must divide the number of CUs");
    gpu.fault("cus", "must be given for a partition");
    root.section("absent").fault("x", "never told");
  };
  EXPECT_EQ(faults_of("\ngpu:\n  xcds: 7\n", read),
            "f.yaml:1:1: absent: is missing\n"
            "f.yaml:2:1: gpu.cus: must be given for a partition\n"
            "f.yaml:3:3: gpu.xcds: must divide the number of CUs");
}

TEST(Section, AMissingSectionAnswersHarmlessly) {
  Config config = Config::from_text("a: 1", "f.yaml");
  Section absent = config.root().section("absent");
  EXPECT_FALSE(absent.has("x"));
  EXPECT_TRUE(absent.keys().empty());
  EXPECT_EQ(absent.bytes("x", {4_KiB, 1_MiB}), 4_KiB);
  EXPECT_EQ(absent.time("x", {3_ns, 9_ns}), 3_ns);
  EXPECT_EQ(absent.choice<Dispatch>("x", dispatches), Dispatch::oldest_first);
  EXPECT_FALSE(absent.flag("x"));
  EXPECT_EQ(absent.name("x"), "");
  EXPECT_TRUE(absent.numbers("x", 0, 1).empty());
  EXPECT_TRUE(absent.integers("x", 0, 1).empty());
  EXPECT_TRUE(absent.integer_matrix("x", 0, 1).empty());
  EXPECT_TRUE(absent.names("x").empty());
  EXPECT_TRUE(absent.texts("x").empty());
  EXPECT_FALSE(absent.holds_section("x"));
  EXPECT_TRUE(absent.list("x").empty());
}

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
