#include "study/uncertainty/ensemble.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "study/report/statistics.h"
#include "study/uncertainty/latin_hypercube.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

const models::GemmShape small_gemm{256, 256, 256};

// Seconds, where the time of the work lies over an ensemble.
Interval interval_of_time(const Ensemble& ensemble, const Work& work) {
  std::vector<double> times;
  for (std::size_t i = 0; i < ensemble.size(); ++i) {
    times.push_back(sim::to_seconds(ensemble.member(i)->alone(work)).value());
  }
  return interval_of(times).value();
}

double time_of(const Platform& platform, const Work& work) {
  return sim::to_seconds(Testbed(platform.spec).alone(work)).value();
}

constexpr double z = 1.644854;  // standard deviations from the middle of a normal distribution to its 95th percentile

// The ends of an interval of 100 draws lie within a stratum, one in 100, of where they should, at which the normal
// density is 0.103: 0.097 standard deviations.
const Sampling many{100, 1};
constexpr double stratum = 0.097;

TEST(Ensemble, IsCertainWhereTheFileTellsOfNoError) {
  const Ensemble ensemble(fitted(""), {});
  EXPECT_TRUE(ensemble.is_certain());
  EXPECT_EQ(ensemble.size(), 0U);
  EXPECT_THAT(ensemble.warnings(),
              ElementsAre("fitted tells of no errors of its parameters: there is no interval; c3sim calibrate writes a "
                          "platform that does"));
}

// A GEMM takes what its launch takes, and more: its time is normal with the error of that alone, 0.5 us.
TEST(Ensemble, ATimeThatFollowsOneParameterHasItsError) {
  const Platform platform = fitted("host:\n  kernel_launch: {value: 6 us, error: 0.5 us, range: [1 us, 12 us]}\n");
  const Ensemble ensemble(platform, many);
  EXPECT_FALSE(ensemble.is_certain());
  EXPECT_THAT(ensemble.warnings(), IsEmpty());
  const double time = time_of(platform, small_gemm);
  const Interval interval = interval_of_time(ensemble, small_gemm);
  EXPECT_NEAR(interval.low, time - z * 0.5e-6, stratum * 0.5e-6);
  EXPECT_NEAR(interval.high, time + z * 0.5e-6, stratum * 0.5e-6);
}

// Errors of 0.5 us and 0.3 us add up to 0.8 us where they go together, to 0.2 us where they go apart, and to the root
// of the sum of their squares where neither knows of the other. Sums of two dimensions have no strata of their own: the
// standard error of a 95th percentile of 100 draws at random is sqrt(0.05 * 0.95 / 100) / 0.103 = 0.212 deviations.
TEST(Ensemble, ErrorsThatCorrelateAddUp) {
  const auto half_width = [](const std::string& correlations) {
    const std::string errors =
        "host:\n  kernel_launch: {value: 6 us, error: 0.5 us, range: [1 us, 12 us]}\n"
        "  kernel_notice: {value: 2 us, error: 0.3 us, kind: fitted, range: [0.5 us, 3.5 us]}\n";
    const Interval interval = interval_of_time(Ensemble(fitted(errors + correlations), many), small_gemm);
    return (interval.high - interval.low) / 2.0;
  };
  EXPECT_NEAR(half_width(correlated("0.9999")), z * 0.8e-6, stratum * 0.8e-6);
  EXPECT_NEAR(half_width(correlated("-0.9999")), z * 0.2e-6, stratum * 0.2e-6);
  EXPECT_NEAR(half_width(""), z * std::hypot(0.5e-6, 0.3e-6), 2 * 0.212 * std::hypot(0.5e-6, 0.3e-6));
}

// Launches of 5.9 us to 6.1 us, however large their error.
TEST(Ensemble, NoIntervalLeavesTheRange) {
  const Platform platform = fitted("host:\n  kernel_launch: {value: 6 us, error: 2 us, range: [5.9 us, 6.1 us]}\n");
  const double time = time_of(platform, small_gemm);
  const Interval interval = interval_of_time(Ensemble(platform, {}), small_gemm);
  EXPECT_GT(interval.low, time - 0.1001e-6);
  EXPECT_LT(interval.low, time - 0.08e-6);
  EXPECT_GT(interval.high, time + 0.08e-6);
  EXPECT_LT(interval.high, time + 0.1001e-6);
}

// A relative standard deviation of 0.2 is that of a logarithm with the deviation sqrt(log(1 + 0.04)), the median being
// the predicted time.
TEST(Ensemble, TimesAreOffByTheSpreadOfTheModel) {
  const Platform platform = fitted("fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", "0.2"));
  const double deviation = std::sqrt(std::log(1.04));
  const double time = time_of(platform, small_gemm);
  const Interval interval = interval_of_time(Ensemble(platform, many), small_gemm);
  EXPECT_NEAR(std::log(interval.low / time), -z * deviation, stratum * deviation);
  EXPECT_NEAR(std::log(interval.high / time), z * deviation, stratum * deviation);
  const models::SdmaCopySpec copy{0, 1, 1_MiB, {}};
  const Ensemble few(platform, {});
  EXPECT_EQ(few.member(0)->alone(copy), few.member(1)->alone(copy)) << "nothing is known of copies";
}

// What runs at once with something is off by a factor more, what runs alone is not.
TEST(Ensemble, WhatRunsBesideOthersIsOffByMore) {
  const models::SdmaCopySpec copy{0, 1, 1024 * 1_MiB, {}};
  const auto widths = [&](const std::string& spread) {
    const Ensemble ensemble(fitted("fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", "0.01") +
                                   "concurrent_spread:\n  kernels_beside_engines: {value: " + spread +
                                   ", source: test, kind: fitted, range: [0, 1]}\n"),
                            many);
    std::vector<double> alone;
    std::vector<double> beside;
    for (std::size_t i = 0; i < ensemble.size(); ++i) {
      const std::unique_ptr<Testbed> drawn = ensemble.member(i);
      alone.push_back(sim::to_seconds(drawn->alone(small_gemm)).value());
      const Span span = drawn->run({operation_of(small_gemm), operation_of(copy)}).operations[0];
      beside.push_back(sim::to_seconds(span.end - span.start).value());
    }
    const auto width = [](const std::vector<double>& times) {
      const Interval interval = *interval_of(times);
      return std::log(interval.high / interval.low) / 2.0 / z;
    };
    return std::pair{width(alone), width(beside)};
  };
  const auto [alone_before, beside_before] = widths("0");
  const auto [alone, beside] = widths("0.1");
  EXPECT_EQ(alone, alone_before);
  EXPECT_NEAR(beside, std::hypot(beside_before, std::sqrt(std::log1p(0.01))), 0.05 * beside);
}

// The model is off of a GEMM by the same factor wherever it runs on a machine, of another by another.
TEST(Ensemble, OneKindOfWorkIsOffByOneFactor) {
  const Platform platform = fitted("fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", "0.2"));
  const Ensemble ensemble(platform, {});
  const models::GemmShape other{512, 512, 512};
  const models::CuMask half{0, 19};
  Testbed certain(platform.spec);
  const auto factor = [&](Testbed& drawn, const models::GemmShape& shape, models::CuMask mask) {
    return sim::to_seconds(drawn.alone(shape, mask)) / sim::to_seconds(certain.alone(shape, mask));
  };
  const std::unique_ptr<Testbed> drawn = ensemble.member(0);
  EXPECT_NEAR(factor(*drawn, small_gemm, {}), factor(*drawn, small_gemm, half), 1e-6);
  EXPECT_GT(std::abs(factor(*drawn, small_gemm, {}) - factor(*drawn, other, {})), 1e-3);
}

// Sizes that end before they begin are no platform: of an end half an error above the beginning, 31 % are drawn below
// it (Phi(-1/2) = 0.3085), each draw from a stratum of its own.
TEST(Ensemble, LeavesOutDrawsThatAreNoPlatform) {
  const Platform platform = fitted(
      "fitted_to:\n  - name: copy\n    smallest: {value: 8 MiB, source: test, kind: measured}\n"
      "    largest: {value: 9 MiB, error: 2 MiB, source: test, kind: measured, range: [1 B, 1 GiB]}\n");
  const Ensemble ensemble(platform, {});
  EXPECT_NEAR(static_cast<double>(ensemble.size()), 69.0, 1.0);
  EXPECT_THAT(ensemble.warnings(),
              ElementsAre(HasSubstr(" of 100 draws are no platform and left out: fitted_to[0].largest: is below the "
                                    "smallest")));
}

// Of 100 values, the i-th least has (i + 1/2) / 100 of them below it: 5 % lie half-way from the 5th (4) to the 6th (5).
TEST(Interval, GoesFromThe5thToThe95thPercentile) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 0.0);
  const std::optional<Interval> interval = interval_of(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 4.5);
  EXPECT_DOUBLE_EQ(interval->high, 94.5);
  EXPECT_TRUE(interval->holds(4.5));
  EXPECT_TRUE(interval->holds(94.5));
  EXPECT_FALSE(interval->holds(4.4));
  EXPECT_FALSE(interval->holds(94.6));
}

// 20 values have 2.5 % below the least and 7.5 % below the next: 5 % lie half-way between these.
TEST(Interval, IsNoneOfFewValues) {
  EXPECT_EQ(interval_of({}), std::nullopt);
  std::vector<double> values(19);
  std::iota(values.begin(), values.end(), 0.0);
  EXPECT_EQ(interval_of(values), std::nullopt);
  values.push_back(19.0);
  EXPECT_EQ(interval_of(values), (Interval{0.5, 18.5}));
}

// A factor of e to either side of 10 is 3.68 to 27.2: whichever reaches further at each end counts.
TEST(Interval, IsNoNarrowerThanAnErrorThatIsKnown) {
  const double e = std::exp(1.0);
  EXPECT_EQ(at_least(Interval{2.0, 12.0}, 10.0, 1.0), (Interval{2.0, 10.0 * e}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 1.0), (Interval{10.0 / e, 10.0 * e}));
  EXPECT_EQ(at_least(Interval{9.0, 11.0}, 10.0, 0.0), (Interval{9.0, 11.0}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 0.0), std::nullopt);
}

TEST(Interval, IsNoneOfValuesThatDoNotDiffer) { EXPECT_EQ(interval_of(std::vector<double>(100, 1.0)), std::nullopt); }

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
