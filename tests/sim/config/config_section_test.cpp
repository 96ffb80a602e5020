// Sections and parameters of a configuration: what their accessors read, and what they say of what they cannot.
#include "sim/config/config_section.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/config_reading.h"
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
template <class Q>
auto within(Limits<Q> limits) {
  return [limits](Section s) { return s.quantity("key", limits); };
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
const auto key_time = [](Section s) { return s.time("key", {0_ns, 10_us}); };
const auto key_flag = [](Section s) { return s.flag("key"); };
const auto key_text = [](Section s) { return s.text("key"); };
const auto key_texts = [](Section s) { return s.texts("key"); };
const auto key_name = [](Section s) { return s.name("key"); };
const auto key_names = [](Section s) { return s.names("key"); };
const auto key_choice = [](Section s) { return s.choice<Dispatch>("key", dispatches); };

TEST(Section, ReadsEveryKindOfValue) {
  EXPECT_EQ(value_of("896MiB", within<Bytes>(any_size)), 896_MiB);
  EXPECT_EQ(value_of("48 GB/s", within<BytesPerSecond>({0.0_GBps, 100.0_GBps})), 48.0_GBps);
  EXPECT_EQ(value_of("2.2us", key_time), 2200_ns);
  EXPECT_EQ(value_of("2.1GHz", within<Hertz>({Hertz(0), Hertz(1e10)})), Hertz(2.1e9));
  EXPECT_EQ(value_of("750W", within<Watts>({Watts(0), Watts(1e4)})), Watts(750));
  EXPECT_EQ(value_of("62pJ/B", within<JoulesPerByte>({JoulesPerByte(0), JoulesPerByte(1)})), JoulesPerByte(62e-12));
  EXPECT_EQ(value_of("400fJ/flop", within<JoulesPerFlop>({JoulesPerFlop(0), JoulesPerFlop(1)})),
            JoulesPerFlop(400e-15));
  EXPECT_EQ(value_of("1307TFLOP/s", within<FlopsPerSecond>({FlopsPerSecond(0), FlopsPerSecond(1e16)})),
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
  EXPECT_EQ(root.quantity("size", any_size, 4_MiB), 4_MiB);
  EXPECT_EQ(root.quantity<BytesPerSecond>("rate", {0.0_GBps, 1.0_GBps}, 0.5_GBps), 0.5_GBps);
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
  EXPECT_EQ(absent.quantity<Bytes>("x", {4_KiB, 1_MiB}), 4_KiB);
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

TEST(Parameter, TellsWhereAValueComesFrom) {
  Config config = Config::from_text(
      "gpu:\n"
      "  engines: {value: 16, source: node.csv num_sdma_engines, kind: fitted, range: [8, 64], about: Copy engines.}\n"
      "  rate: 48 GB/s\n",
      "f.yaml");
  Section gpu = config.root().section("gpu");
  EXPECT_EQ(gpu.integer("engines", 1, 64), 16);
  gpu.quantity<BytesPerSecond>("rate", {BytesPerSecond(0), BytesPerSecond(1e12)});
  config.finish();
  const std::vector<Parameter> expected = {
      {"gpu.engines", "16", "", "node.csv num_sdma_engines", "8", "64", "fitted", "Copy engines.", 2, "f.yaml", ""},
      {"gpu.rate", "48 GB/s", "B/s", "", "", "", "", "", 3, "f.yaml", ""}};
  EXPECT_EQ(config.parameters(), expected);
}

TEST(Parameter, LosesItsErrorWithItsValue) {
  const std::string rate = "k: {value: 9 GB/s, error: 1 GB/s, kind: fitted, range: [1 GB/s, 10 GB/s]}";
  const auto error_of = [](Config config) {
    config.root().quantity<BytesPerSecond>("k", {BytesPerSecond(0), BytesPerSecond(1e12)});
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

}  // namespace
}  // namespace c3sim::sim
