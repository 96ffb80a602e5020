#include "sim/config/config_section.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
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

// The fault of one accessor at `key: <yaml>`, whose value stands at line 1, column 6.
template <class Read>
std::string fault_of(const std::string& yaml, Read read) {
  return faults_of("key: " + yaml, [&](Section root) { read(root); });
}

TEST(Section, ReadsEveryDimension) {
  EXPECT_EQ(value_of("896MiB", [](Section s) { return s.bytes("key", any_size); }), 896_MiB);
  EXPECT_EQ(value_of("48 GB/s", [](Section s) { return s.rate("key", {0.0_GBps, 100.0_GBps}); }), 48.0_GBps);
  EXPECT_EQ(value_of("2.2us", [](Section s) { return s.time("key", {0_ns, 10_us}); }), 2200_ns);
  EXPECT_EQ(value_of("2.1GHz", [](Section s) { return s.frequency("key", {Hertz(0), Hertz(1e10)}); }), Hertz(2.1e9));
  EXPECT_EQ(value_of("750W", [](Section s) { return s.power("key", {Watts(0), Watts(1e4)}); }), Watts(750));
  EXPECT_EQ(value_of("62pJ/B",
                     [](Section s) {
                       return s.energy_per_byte("key", {JoulesPerByte(0), JoulesPerByte(1)});
                     }),
            JoulesPerByte(62e-12));
  EXPECT_EQ(value_of("400fJ/flop",
                     [](Section s) {
                       return s.energy_per_flop("key", {JoulesPerFlop(0), JoulesPerFlop(1)});
                     }),
            JoulesPerFlop(400e-15));
  EXPECT_EQ(value_of("1307TFLOP/s",
                     [](Section s) {
                       return s.flop_rate("key", {FlopsPerSecond(0), FlopsPerSecond(1e16)});
                     }),
            FlopsPerSecond(1307e12));
}

TEST(Section, ReadsNumbersFlagsAndTexts) {
  EXPECT_EQ(value_of("0.85", [](Section s) { return s.number("key", 0, 1); }), 0.85);
  EXPECT_EQ(value_of("-3", [](Section s) { return s.integer("key", -8, 8); }), -3);
  EXPECT_TRUE(value_of("true", [](Section s) { return s.flag("key"); }));
  EXPECT_FALSE(value_of("false", [](Section s) { return s.flag("key"); }));
  EXPECT_EQ(value_of("'eight GPUs, fully connected'", [](Section s) { return s.text("key"); }),
            "eight GPUs, fully connected");
  EXPECT_EQ(value_of("mi300x", [](Section s) { return s.name("key"); }), "mi300x");
  EXPECT_EQ(value_of("rotation", [](Section s) { return s.choice<Dispatch>("key", dispatches); }), Dispatch::rotation);
}

TEST(Section, ReadsListsOfValues) {
  EXPECT_EQ(value_of("[0.5, 1]", [](Section s) { return s.numbers("key", 0, 1); }), (std::vector{0.5, 1.0}));
  EXPECT_EQ(value_of("[8, 16]", [](Section s) { return s.integers("key", 0, 99); }), (std::vector{8, 16}));
  EXPECT_EQ(value_of("[c3_sp, conccl]", [](Section s) { return s.names("key"); }), (std::vector{"c3_sp"s, "conccl"s}));
  EXPECT_EQ(value_of("[[0, 1], [1, 0]]", [](Section s) { return s.integer_matrix("key", 0, 1); }),
            (std::vector<std::vector<int>>{{0, 1}, {1, 0}}));
  EXPECT_TRUE(value_of("[]", [](Section s) { return s.integers("key", 0, 9); }).empty());
}

TEST(Section, ReadsOneTextOrSeveral) {
  const auto read = [](Section s) { return s.texts("key"); };
  EXPECT_EQ(value_of("gemm_*", read), (std::vector{"gemm_*"s}));
  EXPECT_EQ(value_of("[nccl, 'a b', \"-\", 8]", read), (std::vector{"nccl"s, "a b"s, "-"s, "8"s}));
  EXPECT_TRUE(value_of("[]", read).empty());
  EXPECT_EQ(value_of("''", read), (std::vector{""s}));
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

TEST(Section, LimitsIncludeTheirEnds) {
  const auto read = [](Section s) { return s.integer("key", 1, 64); };
  EXPECT_EQ(value_of("1", read), 1);
  EXPECT_EQ(value_of("64", read), 64);
  EXPECT_EQ(fault_of("65", read), "f.yaml:1:6: key: '65' must lie between 1 and 64");
  EXPECT_EQ(fault_of("0", read), "f.yaml:1:6: key: '0' must lie between 1 and 64");
}

TEST(Section, LimitsAreToldWithTheirUnits) {
  EXPECT_EQ(fault_of("2GiB",
                     [](Section s) {
                       s.bytes("key", {1_KiB, 1_GiB});
                     }),
            "f.yaml:1:6: key: '2GiB' must lie between 1KiB and 1GiB");
  EXPECT_EQ(fault_of("1s",
                     [](Section s) {
                       s.time("key", {1_ns, 10_us});
                     }),
            "f.yaml:1:6: key: '1s' must lie between 1ns and 10us");
  EXPECT_EQ(fault_of("900W",
                     [](Section s) {
                       s.power("key", {Watts(1), Watts(800)});
                     }),
            "f.yaml:1:6: key: '900W' must lie between 1 W and 800 W");
  EXPECT_EQ(fault_of("1.5", [](Section s) { s.number("key", 0, 1); }),
            "f.yaml:1:6: key: '1.5' must lie between 0 and 1");
}

// Not "between 1e+06 B/s and 1e+16 B/s".
TEST(Section, LimitsAreToldInTheUnitsOfPeople) {
  EXPECT_EQ(fault_of("0GB/s",
                     [](Section s) {
                       s.rate("key", {BytesPerSecond(1e6), BytesPerSecond(1e16)});
                     }),
            "f.yaml:1:6: key: '0GB/s' must lie between 1 MB/s and 10000 TB/s");
  EXPECT_EQ(fault_of("1kHz",
                     [](Section s) {
                       s.frequency("key", {Hertz(1.32e8), Hertz(2.1e9)});
                     }),
            "f.yaml:1:6: key: '1kHz' must lie between 132 MHz and 2.1 GHz");
  EXPECT_EQ(fault_of("1J/B",
                     [](Section s) {
                       s.energy_per_byte("key", {JoulesPerByte(0.0), JoulesPerByte(1e-6)});
                     }),
            "f.yaml:1:6: key: '1J/B' must lie between 0 pJ/B and 1 uJ/B");
}

TEST(Section, QuantitiesNeedTheirUnit) {
  EXPECT_EQ(fault_of("4096", [](Section s) { s.bytes("key", any_size); }),
            "f.yaml:1:6: key: '4096' needs a unit: write 896MiB, 1GB or 512B");
  EXPECT_EQ(fault_of("5 GB",
                     [](Section s) {
                       s.time("key", {0_ns, 1_us});
                     }),
            "f.yaml:1:6: key: '5 GB' is a size, but a time is needed: write 2.2us, 450ns or 1ms");
}

TEST(Section, NumbersAreStrictlyDecimal) {
  EXPECT_EQ(fault_of("010", [](Section s) { s.integer("key", 0, 99); }),
            "f.yaml:1:6: key: '010' is not a whole decimal number such as 12 (no leading zeros)");
  EXPECT_EQ(fault_of(".inf", [](Section s) { s.number("key", 0, 99); }),
            "f.yaml:1:6: key: '.inf' is not a decimal number such as 12, 0.5 or 1e-3 (no leading zeros)");
}

TEST(Section, FlagsAreTrueOrFalse) {
  EXPECT_EQ(fault_of("yes", [](Section s) { s.flag("key"); }), "f.yaml:1:6: key: 'yes' is not one of false, true");
}

TEST(Section, ChoicesSuggestTheNearestOption) {
  const auto read = [](Section s) { s.choice<Dispatch>("key", dispatches); };
  EXPECT_EQ(fault_of("rotatoin", read),
            "f.yaml:1:6: key: 'rotatoin' is not one of oldest_first, rotation; did you mean 'rotation'?");
  EXPECT_EQ(fault_of("random", read), "f.yaml:1:6: key: 'random' is not one of oldest_first, rotation");
}

TEST(Section, NamesHaveNoBlanks) {
  EXPECT_EQ(fault_of("a b", [](Section s) { s.name("key"); }),
            "f.yaml:1:6: key: 'a b' is not a name (letters, digits, '_' and '-', at most 64)");
  EXPECT_EQ(fault_of("[ok, a b]", [](Section s) { s.names("key"); }),
            "f.yaml:1:11: key: 'a b' is not a name (letters, digits, '_' and '-', at most 64)");
}

TEST(Section, WrongShapesAreNamed) {
  EXPECT_EQ(fault_of("[1]", [](Section s) { s.integer("key", 0, 9); }),
            "f.yaml:1:6: key: a list where a single value is due");
  EXPECT_EQ(fault_of("[a]", [](Section s) { s.flag("key"); }), "f.yaml:1:6: key: a list where a single value is due");
  EXPECT_EQ(fault_of("[a]", [](Section s) { s.text("key"); }), "f.yaml:1:6: key: a list where a single value is due");
  EXPECT_EQ(fault_of("1", [](Section s) { s.integers("key", 0, 9); }),
            "f.yaml:1:6: key: a list of numbers is due here, as in [1, 2]");
  EXPECT_EQ(fault_of("[[1]]", [](Section s) { s.numbers("key", 0, 9); }),
            "f.yaml:1:7: key: a single number is due here");
  EXPECT_EQ(fault_of("1", [](Section s) { s.integer_matrix("key", 0, 9); }),
            "f.yaml:1:6: key: a list of lists is due here, as in [[0, 1], [1, 0]]");
  EXPECT_EQ(fault_of("[1]", [](Section s) { s.integer_matrix("key", 0, 9); }),
            "f.yaml:1:7: key: a list of numbers is due here, as in [1, 2]");
  EXPECT_EQ(fault_of("[[1, 2], [3]]", [](Section s) { s.integer_matrix("key", 0, 9); }),
            "f.yaml:1:15: key: its length differs from that of the first row");
  EXPECT_EQ(fault_of("a", [](Section s) { s.names("key"); }),
            "f.yaml:1:6: key: a list of names is due here, as in [a, b]");
  EXPECT_EQ(fault_of("[[a]]", [](Section s) { s.names("key"); }), "f.yaml:1:7: key: a single name is due here");
  EXPECT_EQ(fault_of("[a, [b]]", [](Section s) { s.texts("key"); }), "f.yaml:1:10: key: a single text is due here");
  EXPECT_EQ(fault_of("{a: 1}", [](Section s) { s.texts("key"); }),
            "f.yaml:1:6: key: a section where a value is due; a parameter is written {value: ..., source: ...}");
  EXPECT_EQ(fault_of("", [](Section s) { s.texts("key"); }), "f.yaml:1:1: key: has no value");
  EXPECT_EQ(fault_of("1", [](Section s) { s.texts("kye"); }),
            "f.yaml:1:1: kye: is missing\nf.yaml:1:1: key: unknown key; did you mean 'kye'?");
  EXPECT_EQ(fault_of("1", [](Section s) { s.section("key"); }),
            "f.yaml:1:1: key: a section (keys indented below) is due here");
  EXPECT_EQ(fault_of("1", [](Section s) { s.list("key"); }), "f.yaml:1:1: key: a list of sections is due here");
  EXPECT_EQ(fault_of("[{}, 1]", [](Section s) { s.list("key"); }), "f.yaml:1:11: key[1]: a section is due here");
}

TEST(Section, EveryElementOfAListLiesWithinTheLimits) {
  EXPECT_EQ(fault_of("[1, 99, x]", [](Section s) { s.integers("key", 0, 9); }),
            "f.yaml:1:10: key: '99' must lie between 0 and 9\n"
            "f.yaml:1:14: key: 'x' is not a whole decimal number such as 12 (no leading zeros)");
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
