#include "study/uncertainty/ensemble.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "study/report/statistics.h"
#include "study/uncertainty/fidelity.h"
#include "study/uncertainty/latin_hypercube.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

const models::GemmShape small_gemm{256, 256, 256};

// Returns the interval of the time of the work over an ensemble, in seconds.
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

// Returns a launch of 6 us with this error and range.
std::string launch(const std::string& error, const std::string& range) {
  return "host:\n  kernel_launch: {value: 6 us, error: " + error + ", range: [" + range + "]}\n";
}

// Returns a platform's row that gives all GEMMs this spread.
std::string gemms_off_by(const std::string& spread) {
  return "fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", spread);
}

constexpr double z = 1.644854;  // standard deviations from the middle of a normal distribution to its 95th percentile

// The ends of an interval of 100 draws lie within one stratum, one in 100, of their true places. The normal density
// there is 0.103: a stratum is 0.097 standard deviations.
const Sampling many{100, 1};
constexpr double stratum = 0.097;

TEST(Ensemble, IsCertainWhereTheFileTellsOfNoError) {
  const Ensemble ensemble(fitted(""), {});
  EXPECT_TRUE(ensemble.is_certain());
  EXPECT_EQ(ensemble.size(), 0U);
  EXPECT_EQ(posterior_draws(fitted(""), 20, 1), std::vector<std::vector<std::string>>(20));
  EXPECT_THAT(ensemble.warnings(),
              ElementsAre("fitted tells of no errors of its parameters: there is no interval; c3sim calibrate writes a "
                          "platform that does"));
}

// The time of a GEMM contains that of its launch, so that it is normal with the launch's error, 0.5 us.
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

// Errors of 0.5 us and 0.3 us add up to 0.8 us if they correlate, to 0.2 us if they anticorrelate, and to the root of
// the sum of their squares if they are independent. Sums of two dimensions have no strata: the standard error of a 95th
// percentile of 100 random draws is sqrt(0.05 * 0.95 / 100) / 0.103 = 0.212 deviations.
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

// Launches stay within 5.9 us to 6.1 us, however large their error.
TEST(Ensemble, NoIntervalLeavesTheRange) {
  const Platform platform = fitted(launch("2 us", "5.9 us, 6.1 us"));
  const double time = time_of_gemm(platform);
  const Interval interval = interval_of_time(Ensemble(platform, {}));
  EXPECT_GT(interval.low, time - 0.1001e-6);
  EXPECT_LT(interval.low, time - 0.08e-6);
  EXPECT_GT(interval.high, time + 0.08e-6);
  EXPECT_LT(interval.high, time + 0.1001e-6);
}

// A relative standard deviation of 0.2 is a deviation of the logarithm of sqrt(log(1 + 0.04)). The predicted time is
// the median.
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

// Work that runs beside other work is off by one more factor; work that runs alone is not.
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

// The model is off by one factor for a GEMM wherever it runs on a machine, and by another factor for another GEMM.
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

// A platform whose sizes end before they begin is invalid. If the end lies half an error above the beginning, 31 % of
// the draws lie below it (Phi(-1/2) = 0.3085), each from its own stratum.
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

// Of 100 values, (i + 1/2) / 100 lie below the i-th least: 5 % lie half-way from the 5th (4) to the 6th (5). Of 20
// values, 2.5 % lie below the least and 7.5 % below the next: 5 % lie half-way between the two.
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

// A factor of e to either side of 10 gives 3.68 to 27.2. Each end is the one that reaches further.
TEST(Interval, IsNoNarrowerThanAnErrorThatIsKnown) {
  const double e = std::exp(1.0);
  EXPECT_EQ(at_least(Interval{2.0, 12.0}, 10.0, 1.0), (Interval{2.0, 10.0 * e}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 1.0), (Interval{10.0 / e, 10.0 * e}));
  EXPECT_EQ(at_least(Interval{9.0, 11.0}, 10.0, 0.0), (Interval{9.0, 11.0}));
  EXPECT_EQ(at_least(std::nullopt, 10.0, 0.0), std::nullopt);
}

// Returns draws of a link's rate, ascending and in GB/s, for a platform file that describes the rate as `told`.
std::vector<double> rates(const std::string& told, std::size_t draws = 200) {
  const Platform platform = fitted("fabric:\n  link_rate: {" + told + "}\n");
  const std::string beginning = "fabric.link_rate=";
  std::vector<double> rates;
  for (const std::vector<std::string>& draw : posterior_draws(platform, draws, 1)) {
    EXPECT_THAT(draw, ElementsAre(StartsWith(beginning)));
    rates.push_back(1e-9 * std::stod(draw.front().substr(beginning.size())));
  }
  std::ranges::sort(rates);
  return rates;
}

// Returns into how many of 200 equal parts from 0 to 1 the shares fall.
std::size_t parts_of(const std::vector<double>& shares) {
  std::set<int> parts;
  for (const double share : shares) parts.insert(static_cast<int>(200.0 * share));
  return parts.size();
}

// A parameter that nobody has probed has one draw in each of 200 equal parts of its range, whatever its value. A probed
// one has an error, and its value without probes is no alternative to it.
TEST(Posterior, IsAnywhereInItsRangeUnlessProbesHaveToldWhere) {
  std::vector<double> shares = rates("value: 41 GB/s, kind: probed, range: [40 GB/s, 60 GB/s]");
  for (double& share : shares) share = (share - 40.0) / 20.0;
  EXPECT_EQ(parts_of(shares), 200U);
  const std::vector<double> told =
      rates("value: 48 GB/s, error: 0.1 GB/s, kind: probed, range: [40 GB/s, 60 GB/s], alternatives: [58 GB/s]");
  EXPECT_NEAR(told.front(), 48.0, 0.4);
  EXPECT_NEAR(told.back(), 48.0, 0.4);
}

// Each of 200 strata of the normal distribution has one draw.
TEST(Posterior, IsNormalAboutTheValue) {
  std::vector<double> shares = rates("value: 48.5 GB/s, error: 0.5 GB/s, range: [30 GB/s, 64 GB/s]");
  for (double& share : shares) share = normal_share((share - 48.5) / 0.5);
  EXPECT_EQ(parts_of(shares), 200U);
}

// Cut off at one error below the value and at the value, the distribution keeps 0.1587 to 0.5 of the normal one. Half
// of the draws lie below the quantile of 0.32935, 0.4417 errors below the value. A range without width gives the value.
// With an error far wider than the range, half of the draws lie in each half of the range.
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
  const auto draws = posterior_draws(platform, 50, 1);
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

// Nobody knows who gets a free CU: of 30 draws each of two policies has 15, and each of three quanta has 10.
TEST(Posterior, DrawsAlternativesOfWhatIsAssumedAlike) {
  Platform platform = fitted("");
  const auto assume = [&](const std::string& path, const std::vector<std::string>& alternatives) {
    std::ranges::find(platform.parameters, path, &sim::Parameter::path)->alternatives = alternatives;
  };
  assume("gpu.dispatch.policy", {"rotation"});
  assume("gpu.dispatch.quantum", {"0 ms", "10 ms"});
  std::map<std::string, int> drawn;
  for (const auto& draw : posterior_draws(platform, 30, 1)) {
    for (const std::string& assignment : draw) ++drawn[assignment];
  }
  EXPECT_THAT(drawn,
              UnorderedElementsAre(Pair("gpu.dispatch.policy=oldest_first", 15),
                                   Pair("gpu.dispatch.policy=rotation", 15), Pair("gpu.dispatch.quantum=0 ms", 10),
                                   Pair("gpu.dispatch.quantum=1 ms", 10), Pair("gpu.dispatch.quantum=10 ms", 10)));
}

// A value that --set assigns is certain.
TEST(Posterior, LeavesOutWhatWasAssignedAndItsAlternatives) {
  const auto draws = posterior_draws(fitted(launch_and_notice + correlated("0.5"), {"host.kernel_launch=5 us"}), 20, 1);
  for (const auto& draw : draws) EXPECT_THAT(draw, ElementsAre(StartsWith("host.kernel_notice=")));
  const auto has_alternatives = [](const Platform& platform) {
    const auto found = std::ranges::find(platform.parameters, "gpu.dispatch.policy", &sim::Parameter::path);
    return !found->alternatives.empty();
  };
  EXPECT_TRUE(has_alternatives(mi300x()));
  EXPECT_FALSE(has_alternatives(mi300x({"gpu.dispatch.policy=rotation"})));
}

// The tests below check what draws are made from, and how far a platform is to be trusted.

using Columns = std::vector<std::vector<double>>;

// Returns whether all numbers lie between 0 and 1 and each of as many strata as numbers holds one.
bool is_latin(const std::vector<double>& numbers) {
  std::set<double> strata;
  for (const double number : numbers) strata.insert(std::floor(number * static_cast<double>(numbers.size())));
  const bool inside = std::ranges::all_of(numbers, [](double number) { return 0.0 < number && number < 1.0; });
  return inside && strata.size() == numbers.size();
}

// Returns Pearson's correlation of the normal scores.
double correlation_of(const std::vector<double>& one, const std::vector<double>& other) {
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += normal_quantile(a[i]) * normal_quantile(b[i]);
    return sum;
  };
  return product(one, other) / std::sqrt(product(one, one) * product(other, other));
}

RC_GTEST_PROP(LatinHypercube, DrawsOnceFromEveryStratumOfEveryDimension, ()) {
  const auto draws = *rc::gen::inRange<std::size_t>(1, 300);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto name = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(is_latin(LatinHypercube(draws, seed).dimension(name)));
}

TEST(LatinHypercube, DependsOnSeedAndNameAlone) {
  const LatinHypercube one(50, 1);
  EXPECT_EQ(one.dimension("a"), LatinHypercube(50, 1).dimension("a"));
  EXPECT_NE(one.dimension("a"), one.dimension("b"));
  EXPECT_NE(one.dimension("a"), LatinHypercube(50, 2).dimension("a"));
  EXPECT_NE(one.dimension("a"), LatinHypercube(50, 1 + (std::uint64_t{1} << 32)).dimension("a"));
}

// The standard defines std::seed_seq and std::mt19937_64 by formulas ([rand.util.seedseq], [rand.eng.mers]). An
// implementation of these formulas in another language gave the numbers below.
TEST(LatinHypercube, IsTheSameOnEveryMachine) {
  const std::vector<double> numbers = LatinHypercube(4, 7).dimension("fabric.link_rate");
  EXPECT_THAT(numbers, ElementsAre(0.6379731480013798, 0.19805065179186962, 0.8487246091078469, 0.4317400022013642));
}

TEST(LatinHypercube, DimensionsDoNotFollowEachOther) {
  const LatinHypercube hypercube(1000, 1);
  // The correlation of 1000 independent pairs has a standard error of 1/sqrt(1000) = 0.032.
  EXPECT_NEAR(correlation_of(hypercube.dimension("a"), hypercube.dimension("b")), 0.0, 4 * 0.032);
}

// Reordering by ranks changes the correlation of 400 scores by less than a hundredth.
TEST(Correlate, GivesNormalScoresTheCorrelationsAskedFor) {
  const LatinHypercube hypercube(400, 3);
  Columns columns{hypercube.dimension("a"), hypercube.dimension("b"), hypercube.dimension("c")};
  const Columns before = columns;
  correlate(columns, {{1.0, -0.8, 0.3}, {-0.8, 1.0, 0.0}, {0.3, 0.0, 1.0}});
  EXPECT_NEAR(correlation_of(columns[0], columns[1]), -0.8, 0.01);
  EXPECT_NEAR(correlation_of(columns[0], columns[2]), 0.3, 0.01);
  EXPECT_NEAR(correlation_of(columns[1], columns[2]), 0.0, 0.01);
  EXPECT_EQ(columns[0], before[0]) << "the first leads";
}

RC_GTEST_PROP(Correlate, LeavesEveryDimensionItsStrata, ()) {
  const auto draws = *rc::gen::inRange<std::size_t>(1, 60);
  const auto dimensions = *rc::gen::inRange<std::size_t>(1, 6);
  // A matrix of equal correlations is positive definite from -1 / (dimensions - 1) to 1.
  const double correlation = *rc::gen::inRange(-15, 95) / 100.0;
  const LatinHypercube hypercube(draws, *rc::gen::arbitrary<std::uint64_t>());
  Columns columns;
  Columns matrix(dimensions, std::vector<double>(dimensions, correlation));
  for (std::size_t i = 0; i < dimensions; ++i) {
    columns.push_back(hypercube.dimension(std::to_string(i)));
    matrix[i][i] = 1.0;
  }
  const Columns before = columns;
  correlate(columns, matrix);
  for (std::size_t i = 0; i < dimensions; ++i) RC_ASSERT(std::ranges::is_permutation(columns[i], before[i]));
}

// 5 % of a normal distribution lie below -1.644854, and half of it lies below 0.
TEST(Normal, HasItsQuantiles) {
  EXPECT_NEAR(normal_quantile(0.05), -1.644854, 1e-6);
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_share(-1.644854), 0.05, 1e-7);
}

// `fitted_to` of mi300x.yaml has RCCL all-reduce up to 16 GiB, SDMA all-gather from 1 KiB to 2 GiB and copies up to 64
// MiB. Other work of the same engines or library is extrapolated.
TEST(Fidelity, IsCalibratedWithinTheSizesThatWereMeasured) {
  using enum models::CollectiveKind;
  using models::Backend;
  const models::PlatformSpec platform = mi300x().spec;
  models::CollectiveSpec fewer = collective(Backend::sdma, all_gather, 1_MiB);
  fewer.gpus = 4;
  const std::vector<std::pair<Work, Fidelity>> rows{
      {collective(Backend::rccl, all_reduce, 16_GiB), Fidelity::calibrated},
      {collective(Backend::rccl, all_reduce, 17_GiB), Fidelity::extrapolated},
      {collective(Backend::sdma, all_gather, 1_KiB), Fidelity::calibrated},
      {collective(Backend::sdma, all_gather, 4_GiB), Fidelity::extrapolated},
      {collective(Backend::sdma, all_to_all, 1_MiB), Fidelity::extrapolated},
      {collective(Backend::rccl, broadcast, 1_MiB), Fidelity::extrapolated},
      {fewer, Fidelity::extrapolated},
      {models::SdmaCopySpec{0, 1, 64_MiB, {}}, Fidelity::calibrated},
      {models::SdmaCopySpec{0, 1, 65_MiB, {}}, Fidelity::extrapolated},
      {models::SdmaCopySpec{0, 1, 1_MiB, 3}, Fidelity::extrapolated},
      {models::SdmaCopySpec{0, models::host_device, 1_MiB, {}}, Fidelity::extrapolated}};
  models::PlatformSpec unmeasured = platform;
  unmeasured.fitted_to.clear();
  const models::PlatformSpec other = mi300x({"gpu.sdma.transfer_setup=0.2us"}).spec;
  for (const auto& [work, expected] : rows) {
    SCOPED_TRACE(to_string(work));
    EXPECT_EQ(fidelity_of(work, platform), expected);
    EXPECT_EQ(fidelity_of(work, other), Fidelity::extrapolated) << "a machine with other parameters";
    EXPECT_EQ(fidelity_of(work, unmeasured), Fidelity::assumed) << "nothing was measured";
  }
}

// mi300x.yaml has measured rates of streams, and assumes those of attention.
TEST(Fidelity, OfKernelsOutsideTheRowsFollowsFromTheirParameters) {
  const Platform known = mi300x();
  const models::PlatformSpec& platform = known.spec;
  EXPECT_EQ(fidelity_of(models::ElementwiseSpec{.read = 1_GiB}, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(models::AttentionShape{}, platform), Fidelity::assumed);
  EXPECT_EQ(fidelity_of(models::FusedSpec{}, platform), Fidelity::assumed) << "no machine has them";
  std::vector<std::string> changes;
  for (const std::string& path : platform.measured) {
    const sim::Parameter& parameter = *std::ranges::find(known.parameters, path, &sim::Parameter::path);
    if (path.starts_with("gpu.streams.")) changes.push_back(path + "=" + parameter.value);
  }
  EXPECT_EQ(fidelity_of(models::ElementwiseSpec{.read = 1_GiB}, mi300x(changes).spec), Fidelity::assumed);
  EXPECT_EQ(fidelity_of(models::ElementwiseSpec{.read = 1_GiB}, reassign(known, changes)), Fidelity::assumed);
}

// mi300x.yaml was fitted to 4096x4864x32896, whose matrices take 38 to 306 MiB. A GEMM of one row reads as much, but
// has a matrix of 16 KiB.
TEST(Fidelity, OfAGemmIsThatOfItsMatrices) {
  const models::PlatformSpec platform = mi300x().spec;
  const models::GemmShape square{8192, 8192, 8192};
  EXPECT_EQ(fidelity_of(square, platform, 304), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of(square, platform, 240), Fidelity::extrapolated);
  for (const models::GemmShape& shape :
       {models::GemmShape{1, 8192, 8192}, models::GemmShape{8192, 8192, 8192, models::Dtype::fp16},
        models::GemmShape{8192, 8192, 8192, models::Dtype::fp8}, models::GemmShape{8192, 57344, 8192}}) {
    EXPECT_EQ(fidelity_of(shape, platform, 304), Fidelity::extrapolated) << to_string(shape);
  }
  models::PlatformSpec unmeasured = platform;
  unmeasured.fitted_to.clear();
  EXPECT_EQ(fidelity_of(square, unmeasured, 304), Fidelity::assumed);
}

// Copies have two rows. The sizes reach twice the largest of one row, half the smallest of the other, and beyond both.
// Collectives without a row have the worst spread of their library.
TEST(Spread, IsThatOfTheRowWithTheSizeOrTheWorstOfTheSameLibrary) {
  using enum models::CollectiveKind;
  using models::Backend;
  const models::PlatformSpec platform =
      fitted("fitted_to:\n" + row_of("copy", "1 KiB", "1 MiB", "0.1") + row_of("copy", "4 MiB", "1 GiB", "0.02") +
             row_of("rccl_all_gather", "1 KiB", "1 GiB", "0.04") + row_of("rccl_all_reduce", "1 KiB", "1 GiB", "0.07"))
          .spec;
  const auto copy = [](sim::Bytes bytes) { return models::SdmaCopySpec{0, 1, bytes, {}}; };
  const std::vector<std::pair<Work, double>> rows{{copy(512_KiB), 0.1},
                                                  {copy(64_MiB), 0.02},
                                                  {copy(sim::Bytes(1.9 * 0x1p20)), 0.1},
                                                  {copy(sim::Bytes(2.1 * 0x1p20)), 0.02},
                                                  {copy(4_GiB), 0.02},
                                                  {copy(sim::Bytes(1.0)), 0.1},
                                                  {collective(Backend::rccl, all_gather, 1_MiB), 0.04},
                                                  {collective(Backend::rccl, all_to_all, 1_MiB), 0.07},
                                                  {collective(Backend::sdma, all_gather, 1_MiB), 0.0},
                                                  {models::GemmShape{512, 512, 512}, 0.0},
                                                  {models::ElementwiseSpec{1_MiB, 1_MiB, {}}, 0.0}};
  for (const auto& [work, relative] : rows) EXPECT_EQ(spread_of(work, platform).relative, relative) << to_string(work);
}

// Two matrices of 512x512x65536 take 64 MiB and the third 0.5 MiB. Those of 4096x4096x4096 take 32 MiB, a size that two
// rows contain.
TEST(Spread, OfAGemmIsThatOfItsSmallestMatrixAndTheWidestThatHoldsIt) {
  const models::PlatformSpec platform =
      fitted("fitted_to:\n" + row_of("gemm", "1 KiB", "1 MiB", "0.02") + row_of("gemm", "2 MiB", "1 GiB", "0.1") +
             row_of("gemm", "32 MiB", "1 GiB", "0.01"))
          .spec;
  EXPECT_EQ(spread_of(models::GemmShape{512, 512, 65536}, platform).relative, 0.02);
  EXPECT_EQ(spread_of(models::GemmShape{4096, 4096, 4096}, platform).relative, 0.1);
}

TEST(Spread, IsOfWorkOfOneKindAndSize) {
  const models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(spread_of(models::SdmaCopySpec{0, 1, 1_MiB, {}}, platform).of, "copy of 1MiB");
  EXPECT_EQ(spread_of(models::SdmaCopySpec{5, 2, 1_MiB, 3}, platform).of, "copy of 1MiB");
  EXPECT_EQ(spread_of(models::GemmShape{512, 256, 128}, platform).of, "gemm of 512x256x128");
  EXPECT_EQ(spread_of(collective(models::Backend::sdma, models::CollectiveKind::all_gather, 1_MiB), platform).of,
            "sdma_all_gather of 1MiB");
}

}  // namespace
}  // namespace c3sim::study
