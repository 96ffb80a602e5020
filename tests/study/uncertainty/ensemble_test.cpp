#include "study/uncertainty/ensemble.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "study/uncertainty/interval.h"
#include "study/uncertainty/latin_hypercube.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

const models::GemmShape small_gemm{256, 256, 256};

// Seconds, where the time of the work lies over an ensemble.
Interval interval_of_time(const Ensemble& ensemble, const Work& work = small_gemm) {
  std::vector<double> times;
  for (std::size_t i = 0; i < ensemble.size(); ++i) {
    times.push_back(sim::to_seconds(ensemble.member(i)->alone(work)).value());
  }
  return interval_of(times).value();
}

double time_of_gemm(const Platform& platform) {
  return sim::to_seconds(Testbed(platform.spec).alone(small_gemm)).value();
}

// With a launch of 6 us that has an error, in a range.
std::string launch(const std::string& error, const std::string& range) {
  return "host:\n  kernel_launch: {value: 6 us, error: " + error + ", range: [" + range + "]}\n";
}

// Off by so much of any GEMM.
std::string gemms_off_by(const std::string& spread) {
  return "fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", spread);
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
  const Posterior posterior(fitted(""));
  EXPECT_TRUE(posterior.empty());
  EXPECT_EQ(posterior.draws(20, 1), std::vector<std::vector<std::string>>(20));
  EXPECT_THAT(ensemble.warnings(),
              ElementsAre("fitted tells of no errors of its parameters: there is no interval; c3sim calibrate writes a "
                          "platform that does"));
}

// A GEMM takes what its launch takes, and more: its time is normal with the error of that alone, 0.5 us.
TEST(Ensemble, ATimeThatFollowsOneParameterHasItsError) {
  const Platform platform = fitted(launch("0.5 us", "1 us, 12 us"));
  const Ensemble ensemble(platform, many);
  EXPECT_FALSE(ensemble.is_certain());
  EXPECT_THAT(ensemble.warnings(), IsEmpty());
  const double time = time_of_gemm(platform);
  const Interval interval = interval_of_time(ensemble);
  EXPECT_NEAR(interval.low, time - z * 0.5e-6, stratum * 0.5e-6);
  EXPECT_NEAR(interval.high, time + z * 0.5e-6, stratum * 0.5e-6);
}

// Errors of 0.5 us and 0.3 us add up to 0.8 us where they go together, to 0.2 us where they go apart, and to the root
// of the sum of their squares where neither knows of the other. Sums of two dimensions have no strata of their own: the
// standard error of a 95th percentile of 100 draws at random is sqrt(0.05 * 0.95 / 100) / 0.103 = 0.212 deviations.
TEST(Ensemble, ErrorsThatCorrelateAddUp) {
  const auto half_width = [](const std::string& correlations) {
    const std::string errors = launch("0.5 us", "1 us, 12 us") +
                               "  kernel_notice: {value: 2 us, error: 0.3 us, kind: fitted, range: [0.5 us, 3.5 us]}\n";
    const Interval interval = interval_of_time(Ensemble(fitted(errors + correlations), many));
    return (interval.high - interval.low) / 2.0;
  };
  EXPECT_NEAR(half_width(correlated("0.9999")), z * 0.8e-6, stratum * 0.8e-6);
  EXPECT_NEAR(half_width(correlated("-0.9999")), z * 0.2e-6, stratum * 0.2e-6);
  EXPECT_NEAR(half_width(""), z * std::hypot(0.5e-6, 0.3e-6), 2 * 0.212 * std::hypot(0.5e-6, 0.3e-6));
}

// Launches of 5.9 us to 6.1 us, however large their error.
TEST(Ensemble, NoIntervalLeavesTheRange) {
  const Platform platform = fitted(launch("2 us", "5.9 us, 6.1 us"));
  const double time = time_of_gemm(platform);
  const Interval interval = interval_of_time(Ensemble(platform, {}));
  EXPECT_GT(interval.low, time - 0.1001e-6);
  EXPECT_LT(interval.low, time - 0.08e-6);
  EXPECT_GT(interval.high, time + 0.08e-6);
  EXPECT_LT(interval.high, time + 0.1001e-6);
}

// A relative standard deviation of 0.2 is that of a logarithm with the deviation sqrt(log(1 + 0.04)), the median being
// the predicted time.
TEST(Ensemble, TimesAreOffByTheSpreadOfTheModel) {
  const Platform platform = fitted(gemms_off_by("0.2"));
  const double deviation = std::sqrt(std::log(1.04));
  const double time = time_of_gemm(platform);
  const Interval interval = interval_of_time(Ensemble(platform, many));
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
    const Ensemble ensemble(fitted(gemms_off_by("0.01") + "concurrent_spread:\n  kernels_beside_engines: {value: " +
                                   spread + ", source: test, kind: fitted, range: [0, 1]}\n"),
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
  const Platform platform = fitted(gemms_off_by("0.2"));
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

std::vector<double> whole_numbers_below(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.rbegin(), values.rend(), 0.0);
  return values;
}

// Of 100 values, the i-th least has (i + 1/2) / 100 of them below it: 5 % lie half-way from the 5th (4) to the 6th (5).
// 20 values have 2.5 % below the least and 7.5 % below the next: 5 % lie half-way between these.
TEST(Interval, GoesFromThe5thToThe95thPercentileAndIsNoneOfFewValuesOrOfThoseThatDoNotDiffer) {
  const Interval interval = interval_of(whole_numbers_below(100)).value();
  EXPECT_DOUBLE_EQ(interval.low, 4.5);
  EXPECT_DOUBLE_EQ(interval.high, 94.5);
  EXPECT_TRUE(interval.holds(4.5) && interval.holds(94.5));
  EXPECT_FALSE(interval.holds(4.4) || interval.holds(94.6));
  EXPECT_EQ(interval_of(whole_numbers_below(20)), (Interval{0.5, 18.5}));
  EXPECT_EQ(interval_of(whole_numbers_below(19)), std::nullopt);
  EXPECT_EQ(interval_of({}), std::nullopt);
  EXPECT_EQ(interval_of(std::vector<double>(100, 1.0)), std::nullopt);
}

// A factor of e to either side of 10 is 3.68 to 27.2: whichever reaches further at each end counts.
TEST(Interval, IsNoNarrowerThanAnErrorThatIsKnown) {
  const double e = std::exp(1.0);
  EXPECT_EQ(at_least(Interval{2.0, 12.0}, 10.0, 1.0), (Interval{2.0, 10.0 * e}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 1.0), (Interval{10.0 / e, 10.0 * e}));
  EXPECT_EQ(at_least(Interval{9.0, 11.0}, 10.0, 0.0), (Interval{9.0, 11.0}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 0.0), std::nullopt);
}

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

// So many draws of a link's rate, in GB/s and ascending, that the file says this of.
std::vector<double> rates(const std::string& told, std::size_t draws = 200) {
  const Posterior posterior(fitted("fabric:\n  link_rate: {" + told + "}\n"));
  EXPECT_FALSE(posterior.empty());
  std::vector<double> rates = drawn(posterior.draws(draws, 1), "fabric.link_rate");
  for (double& rate : rates) rate *= 1e-9;
  std::ranges::sort(rates);
  return rates;
}

// Into how many of 200 equal parts from 0 to 1 these fall.
std::size_t parts_of(const std::vector<double>& shares) {
  std::set<int> parts;
  for (const double share : shares) parts.insert(static_cast<int>(200.0 * share));
  return parts.size();
}

// Nobody has probed it: one draw in each of 200 equal parts of its range, whatever value the file takes it to have.
// What probes have told has an error, and the value without them is no alternative to it.
TEST(Posterior, IsAnywhereInItsRangeUnlessProbesHaveToldWhere) {
  std::vector<double> shares;
  for (const double rate : rates("value: 41 GB/s, kind: probed, range: [40 GB/s, 60 GB/s]")) {
    shares.push_back((rate - 40.0) / 20.0);
  }
  EXPECT_EQ(parts_of(shares), 200U);
  const std::vector<double> told =
      rates("value: 48 GB/s, error: 0.1 GB/s, kind: probed, range: [40 GB/s, 60 GB/s], alternatives: [58 GB/s]");
  EXPECT_NEAR(told.front(), 48.0, 0.4);
  EXPECT_NEAR(told.back(), 48.0, 0.4);
}

// As many draws below each quantile of the normal distribution as lie below it: one in each of 200 strata.
TEST(Posterior, IsNormalAboutTheValue) {
  std::vector<double> shares;
  for (const double rate : rates("value: 48.5 GB/s, error: 0.5 GB/s, range: [30 GB/s, 64 GB/s]")) {
    shares.push_back(normal_share((rate - 48.5) / 0.5));
  }
  EXPECT_EQ(parts_of(shares), 200U);
}

// Cut off at one error below and at the value itself, the distribution has 0.1587 to 0.5 of the normal one: half of the
// draws lie below its quantile of 0.32935, 0.4417 errors below the value. Of a range without width it is the value.
// Half of the draws of a rate with an error far wider than its range lie in each half of that.
TEST(Posterior, IsCutOffAtTheRange) {
  const std::vector<double> half = rates("value: 48.5 GB/s, error: 0.5 GB/s, range: [48 GB/s, 48.5 GB/s]");
  EXPECT_GE(half.front(), 48.0);
  EXPECT_LE(half.back(), 48.5);
  EXPECT_NEAR(half[100], 48.5 - 0.4417 * 0.5, 0.01);
  const std::vector<double> point = rates("value: 48.5 GB/s, error: 0.5 GB/s, range: [48.5 GB/s, 48.5 GB/s]", 20);
  EXPECT_DOUBLE_EQ(point.front(), 48.5);
  EXPECT_DOUBLE_EQ(point.back(), 48.5);
  const std::vector<double> even = rates("value: 48.5 GB/s, error: 900 GB/s, range: [40 GB/s, 60 GB/s]", 100);
  EXPECT_EQ(std::ranges::count_if(even, [](double rate) { return rate < 50.0; }), 50);
}

TEST(Posterior, AssignsWhatTheConfigurationTakes) {
  const Platform platform = fitted(
      "fabric:\n  link_rate: {value: 48.5 GB/s, error: 0.1 GB/s}\n  latency: {value: 0.45 us, error: 9 ns, kind: "
      "measured}\n"
      "  reads_in_flight: {value: 176 KiB, error: 2 KiB}\n  reverse_share: {value: 0.0435, error: 0.001}\n"
      "gpu: {memory: {queueing_factor: {value: 0.1, error: 0.001}}}\n");
  const auto draws = Posterior(platform).draws(50, 1);
  EXPECT_THAT(draws[0], SizeIs(5));
  for (const std::vector<std::string>& draw : draws) {
    const models::PlatformSpec spec = reassign(platform, draw);
    EXPECT_NEAR(sim::to_seconds(spec.fabric.latency).value(), 450e-9, 40e-9);
    for (const std::string& assignment : draw) {
      if (!assignment.starts_with("fabric.reads_in_flight")) continue;
      EXPECT_THAT(assignment, EndsWith(" B"));
    }
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
  EXPECT_THAT(drawn,
              UnorderedElementsAre(Pair("gpu.dispatch.policy=oldest_first", 15),
                                   Pair("gpu.dispatch.policy=rotation", 15), Pair("gpu.dispatch.quantum=0 ms", 10),
                                   Pair("gpu.dispatch.quantum=1 ms", 10), Pair("gpu.dispatch.quantum=10 ms", 10)));
}

// What --set says is meant.
TEST(Posterior, LeavesOutWhatWasAssignedAndItsAlternatives) {
  const auto draws = Posterior(fitted(launch_and_notice + correlated("0.5"), {"host.kernel_launch=5 us"})).draws(20, 1);
  for (const auto& draw : draws) EXPECT_THAT(draw, ElementsAre(StartsWith("host.kernel_notice=")));
  const auto has_alternatives = [](const Platform& platform) {
    const auto found = std::ranges::find(platform.parameters, "gpu.dispatch.policy", &sim::Parameter::path);
    return !found->alternatives.empty();
  };
  EXPECT_TRUE(has_alternatives(mi300x()));
  EXPECT_FALSE(has_alternatives(mi300x({"gpu.dispatch.policy=rotation"})));
}

}  // namespace
}  // namespace c3sim::study
