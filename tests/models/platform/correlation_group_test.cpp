#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"

namespace c3sim::models {
namespace {

// Returns a platform based on mi300x whose link rate, latency and acknowledgements have errors, with the given pairs.
sim::Config config_of(const std::string& pairs) {
  const std::string text =
      "base: mi300x\n"
      "name: fitted\n"
      "fabric:\n"
      "  link_rate: {value: 48.5 GB/s, error: 0.2 GB/s}\n"
      "  latency: {value: 450 ns, error: 20 ns, kind: measured}\n"
      "  reverse_share: {value: 0.04, error: 0.002}\n"
      "correlations:\n";
  return platform_config(text + pairs, "fitted.yaml", folders);
}

PlatformSpec read(const std::string& pairs) {
  sim::Config config = config_of(pairs);
  return PlatformSpec::read(config, folders);
}

std::string pair(const std::string& first, const std::string& second, const std::string& correlation) {
  return "  - {first: " + first + ", second: " + second + ", correlation: {value: " + correlation +
         ", source: s, kind: fitted, range: [-1, 1]}}\n";
}

const std::string rate = "fabric.link_rate";
const std::string latency = "fabric.latency";
const std::string reverse = "fabric.reverse_share";

TEST(CorrelationGroup, IsWhatPairsLink) {
  EXPECT_TRUE(read("  []\n").correlations.empty());
  const auto one = read(pair(latency, reverse, "0.25") + pair(rate, latency, "-0.5")).correlations;
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].parameters, (std::vector<std::string>{rate, latency, reverse}));
  EXPECT_EQ(one[0].matrix, (std::vector<std::vector<double>>{{1, -0.5, 0}, {-0.5, 1, 0.25}, {0, 0.25, 1}}));
  EXPECT_EQ(read(pair(latency, reverse, "0.25")).correlations.front().parameters.size(), 2U);
}

TEST(CorrelationGroup, LeavesOutPairsOfWhichOneHasNoError) {
  const std::string own = "gpu:\n  sdma:\n    swap_cost: {value: 1.1}\n";
  sim::Config config = config_of(pair("gpu.sdma.swap_cost", latency, "0.5") + pair("host.word_write", latency, "0.5") +
                                 pair(rate, latency, "0.5") + own);
  const auto groups = PlatformSpec::read(config, folders).correlations;
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].parameters, (std::vector<std::string>{rate, latency}));
}

TEST(CorrelationGroup, LosesParametersThatWereAssigned) {
  sim::Config config = config_of(pair(rate, latency, "0.5") + pair(latency, reverse, "0.5"));
  config.set(rate + "=47 GB/s");
  const auto groups = PlatformSpec::read(config, folders).correlations;
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].parameters, (std::vector<std::string>{latency, reverse}));
  EXPECT_TRUE(config.warnings().empty()) << config.warnings()[0].what;
}

// A file replaces a value of its base, which has pairs; the text resolved from both reads the same as they do.
TEST(CorrelationGroup, LosesParametersWhoseValueAnotherFileReplaces) {
  sim::Config over = sim::Config::from_text("fabric: {latency: 460 ns}\n", "over.yaml");
  over.stand_on(config_of(pair(rate, latency, "0.5")));
  EXPECT_TRUE(PlatformSpec::read(over, folders).correlations.empty());
  sim::Config again = sim::Config::from_text(over.resolved(), "again.yaml", sim::Sources::required);
  EXPECT_TRUE(PlatformSpec::read(again, folders).correlations.empty());
}

// A path by position would mean another library as soon as one is inserted before it.
TEST(CorrelationGroup, NamesTheRowsOfLists) {
  const auto groups_of = [](sim::Config config) { return PlatformSpec::read(config, folders).correlations; };
  const std::string by_name = "gpu.gemm.libraries[stream_k].start_up";
  const sim::Config shipped =
      platform_config(std::filesystem::path(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml"), folders);
  const auto has = [](const std::vector<CorrelationGroup>& groups, std::string_view path) {
    return std::ranges::any_of(
        groups, [&](const auto& group) { return std::ranges::find(group.parameters, path) != group.parameters.end(); });
  };
  EXPECT_TRUE(has(groups_of(shipped), "gpu.gemm.libraries[6].start_up"));
  EXPECT_FALSE(has(groups_of(shipped), by_name)) << "draws assign by places";
  const std::string list =
      "gpu:\n  gemm:\n    library: own\n    libraries:\n      - {name: own, schedule: persistent, efficiency: 0.5, "
      "tile_overhead: 1, least_step: 1, cold_operands: 0, start_up: 0 us, steps_in_flight: 1, time_spread: 0, "
      "l2_drift: "
      "1}\n";
  sim::Config over = sim::Config::from_text(list, "over.yaml");
  over.stand_on(shipped);
  const std::string no_table = config_fault([&over] { PlatformSpec::read(over, folders); });
  EXPECT_NE(no_table, "");
  EXPECT_EQ(no_table.find('\n'), std::string::npos) << "pairs of the other list are no fault of this file";
  EXPECT_TRUE(read(pair("\"gpu.gemm.libraries[none].start_up\"", latency, "0.5")).correlations.empty());
}

TEST(FittedRange, MayTellTheSpreadOfItsWork) {
  const auto spread_of = [](const std::string& spread) {
    const std::string text =
        "base: mi300x\nname: fitted\nfitted_to:\n  - name: copy\n"
        "    smallest: {value: 1 KiB, source: s, kind: measured}\n"
        "    largest: {value: 1 MiB, source: s, kind: measured}\n";
    sim::Config config = platform_config(text + spread, "fitted.yaml", folders);
    return PlatformSpec::read(config, folders).fitted_to.front().spread;
  };
  EXPECT_EQ(spread_of(""), 0.0);
  EXPECT_EQ(spread_of("    spread: {value: 0.031, source: s, kind: fitted, range: [0, 1]}\n"), 0.031);
  EXPECT_THROW(spread_of("    spread: {value: -0.1, source: s, kind: fitted, range: [-1, 1]}\n"), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::models
