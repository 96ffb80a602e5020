#include "sim/config/config_section.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

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

}  // namespace
}  // namespace c3sim::sim
