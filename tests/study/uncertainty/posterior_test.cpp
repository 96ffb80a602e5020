#include "study/uncertainty/posterior.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "study/uncertainty/latin_hypercube.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

// The numbers assigned to a parameter, by draw.
std::vector<double> drawn(const std::vector<std::vector<std::string>>& draws, const std::string& path) {
  std::vector<double> numbers;
  for (const std::vector<std::string>& assignments : draws) {
    for (const std::string& assignment : assignments) {
      if (assignment.starts_with(path + "=")) numbers.push_back(std::stod(assignment.substr(path.size() + 1)));
    }
  }
  return numbers;
}

std::string rate(const std::string& error, const std::string& range) {
  return "fabric:\n  link_rate: {value: 48.5 GB/s, error: " + error + ", range: [" + range + "]}\n";
}

TEST(Posterior, IsEmptyWhereNoParameterHasAnError) {
  const Posterior posterior(fitted(""));
  EXPECT_TRUE(posterior.empty());
  EXPECT_EQ(posterior.draws(20, 1), std::vector<std::vector<std::string>>(20));
}

// Nobody has probed it: one draw in each of 200 equal parts of its range, whatever value the file takes it to have.
TEST(Posterior, IsAnywhereInItsRangeWhereProbesHaveNotToldWhere) {
  const std::string rate = "fabric:\n  link_rate: {value: 41 GB/s, kind: probed, range: [40 GB/s, 60 GB/s]}\n";
  const Posterior posterior(fitted(rate));
  std::set<int> parts;
  for (const double value : drawn(posterior.draws(200, 1), "fabric.link_rate")) {
    parts.insert(static_cast<int>(200.0 * (value - 40e9) / 20e9));
  }
  EXPECT_EQ(parts.size(), 200U);
}

// What probes have told has an error, and the value without them is no alternative to it.
TEST(Posterior, IsNormalAboutWhatProbesHaveTold) {
  const std::string rate =
      "fabric:\n  link_rate: {value: 48 GB/s, error: 0.1 GB/s, kind: probed, range: [40 GB/s, 60 GB/s], "
      "alternatives: [58 GB/s]}\n";
  for (const double value : drawn(Posterior(fitted(rate)).draws(200, 1), "fabric.link_rate")) {
    EXPECT_NEAR(value, 48e9, 0.4e9);
  }
}

// As many draws below each quantile of the normal distribution as lie below it: one in each of 200 strata.
TEST(Posterior, IsNormalAboutTheValue) {
  const Posterior posterior(fitted(rate("0.5 GB/s", "30 GB/s, 64 GB/s")));
  EXPECT_FALSE(posterior.empty());
  std::set<int> strata;
  for (const double value : drawn(posterior.draws(200, 1), "fabric.link_rate")) {
    strata.insert(static_cast<int>(200.0 * normal_share((value - 48.5e9) / 0.5e9)));
  }
  EXPECT_EQ(strata.size(), 200U);
}

// Cut off at one error below and at the value itself, the distribution has 0.1587 to 0.5 of the normal one: half of the
// draws lie below its quantile of 0.32935, 0.4417 errors below the value.
TEST(Posterior, IsCutOffAtTheRange) {
  const Posterior posterior(fitted(rate("0.5 GB/s", "48 GB/s, 48.5 GB/s")));
  std::vector<double> values = drawn(posterior.draws(200, 1), "fabric.link_rate");
  std::ranges::sort(values);
  EXPECT_GE(values.front(), 48e9);
  EXPECT_LE(values.back(), 48.5e9);
  EXPECT_NEAR(values[100], 48.5e9 - 0.4417 * 0.5e9, 0.01e9);
}

TEST(Posterior, OfARangeWithoutWidthIsTheValue) {
  const Posterior posterior(fitted(rate("0.5 GB/s", "48.5 GB/s, 48.5 GB/s")));
  for (const double value : drawn(posterior.draws(20, 1), "fabric.link_rate")) EXPECT_EQ(value, 48.5e9);
}

// Half of the draws of a rate with an error far wider than its range lie in each half of that.
TEST(Posterior, IsEvenWhereTheErrorIsFarWiderThanTheRange) {
  const Posterior posterior(fitted(rate("900 GB/s", "40 GB/s, 60 GB/s")));
  std::vector<double> values = drawn(posterior.draws(100, 1), "fabric.link_rate");
  EXPECT_EQ(std::ranges::count_if(values, [](double value) { return value < 50e9; }), 50);
}

TEST(Posterior, AssignsWhatTheConfigurationTakes) {
  const Platform platform = fitted(
      "fabric:\n  link_rate: {value: 48.5 GB/s, error: 0.1 GB/s}\n  latency: {value: 0.45 us, error: 9 ns, kind: "
      "measured}\n"
      "  reads_in_flight: {value: 176 KiB, error: 2 KiB}\n  reverse_share: {value: 0.0435, error: 0.001}\n"
      "gpu: {memory: {queueing_factor: {value: 0.1, error: 0.001}}}\n");
  const auto draws = Posterior(platform).draws(50, 1);
  EXPECT_THAT(draws[0], testing::SizeIs(5));
  for (const std::vector<std::string>& draw : draws) {
    const models::PlatformSpec spec = reassign(platform, draw);
    EXPECT_NEAR(sim::to_seconds(spec.fabric.latency).value(), 450e-9, 40e-9);
    for (const std::string& assignment : draw) {
      if (!assignment.starts_with("fabric.reads_in_flight")) continue;
      EXPECT_THAT(assignment, EndsWith(" B"));
    }
  }
}

TEST(Posterior, IsTheSameForTheSameSeed) {
  const Posterior posterior(fitted(launch_and_notice + correlated("0.5")));
  EXPECT_EQ(posterior.draws(30, 5), posterior.draws(30, 5));
  EXPECT_NE(posterior.draws(30, 5), posterior.draws(30, 6));
}

// With a correlation of nearly 1 both lie the same number of errors off.
TEST(Posterior, ParametersCorrelateAsTheFileSays) {
  const auto draws = Posterior(fitted(launch_and_notice + correlated("0.9999"))).draws(200, 1);
  const std::vector<double> launches = drawn(draws, "host.kernel_launch");
  const std::vector<double> notices = drawn(draws, "host.kernel_notice");
  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    const double off = (launches[draw] - 6e-6) / 0.5e-6;
    EXPECT_NEAR((notices[draw] - 2e-6) / 0.1e-6, off, 0.1 + 0.2 * std::abs(off)) << draw;
  }
}

// Nobody knows who gets a CU that falls free: of 30 draws each of two words has 15, each of three times 10.
TEST(Posterior, DrawsAlternativesOfWhatIsAssumedAlike) {
  Platform platform = fitted("");
  const auto assume = [&](const std::string& path, const std::vector<std::string>& alternatives) {
    std::ranges::find(platform.parameters, path, &sim::Parameter::path)->alternatives = alternatives;
  };
  assume("gpu.dispatch.policy", {"rotation"});
  assume("gpu.dispatch.quantum", {"0 ms", "10 ms"});
  const Posterior posterior(platform);
  EXPECT_FALSE(posterior.empty());
  std::map<std::string, int> drawn;
  for (const auto& draw : posterior.draws(30, 1)) {
    for (const std::string& assignment : draw) ++drawn[assignment];
  }
  EXPECT_THAT(drawn, testing::UnorderedElementsAre(testing::Pair("gpu.dispatch.policy=oldest_first", 15),
                                                   testing::Pair("gpu.dispatch.policy=rotation", 15),
                                                   testing::Pair("gpu.dispatch.quantum=0 ms", 10),
                                                   testing::Pair("gpu.dispatch.quantum=1 ms", 10),
                                                   testing::Pair("gpu.dispatch.quantum=10 ms", 10)));
}

// What --set says is meant.
TEST(Posterior, LeavesOutAlternativesOfWhatWasAssigned) {
  const auto has_alternatives = [](const Platform& platform) {
    const auto found = std::ranges::find(platform.parameters, "gpu.dispatch.policy", &sim::Parameter::path);
    return !found->alternatives.empty();
  };
  EXPECT_TRUE(has_alternatives(mi300x()));
  EXPECT_FALSE(has_alternatives(mi300x({"gpu.dispatch.policy=rotation"})));
}

TEST(Posterior, LeavesOutWhatWasAssigned) {
  const auto draws = Posterior(fitted(launch_and_notice + correlated("0.5"), {"host.kernel_launch=5 us"})).draws(20, 1);
  for (const auto& draw : draws) EXPECT_THAT(draw, ElementsAre(StartsWith("host.kernel_notice=")));
}

}  // namespace
}  // namespace c3sim::study
