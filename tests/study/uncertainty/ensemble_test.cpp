#include "study/uncertainty/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

}  // namespace
}  // namespace c3sim::study
