#include "study/uncertainty/latin_hypercube.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "study/uncertainty/fidelity.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using Columns = std::vector<std::vector<double>>;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

// The strata that the numbers lie in, in ascending order.
std::vector<int> strata_of(const std::vector<double>& numbers) {
  std::vector<int> strata;
  for (const double number : numbers) {
    strata.push_back(static_cast<int>(std::floor(number * static_cast<double>(numbers.size()))));
  }
  std::ranges::sort(strata);
  return strata;
}

bool is_latin(const std::vector<double>& numbers) {
  std::vector<int> each_once(numbers.size());
  std::iota(each_once.begin(), each_once.end(), 0);
  const bool inside = std::ranges::all_of(numbers, [](double number) { return 0.0 < number && number < 1.0; });
  return inside && strata_of(numbers) == each_once;
}

// Pearson's, of normal scores.
double correlation_of(const std::vector<double>& one, const std::vector<double>& other) {
  double product = 0.0;
  double square_one = 0.0;
  double square_other = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double a = normal_quantile(one[i]);
    const double b = normal_quantile(other[i]);
    product += a * b;
    square_one += a * a;
    square_other += b * b;
  }
  return product / std::sqrt(square_one * square_other);
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

// What std::seed_seq and std::mt19937_64 give is fixed by formulas of the standard ([rand.util.seedseq],
// [rand.eng.mers]). These numbers follow from them, written anew in another language.
TEST(LatinHypercube, IsTheSameOnEveryMachine) {
  const std::vector<double> numbers = LatinHypercube(4, 7).dimension("fabric.link_rate");
  EXPECT_THAT(numbers,
              testing::ElementsAre(0.6379731480013798, 0.19805065179186962, 0.8487246091078469, 0.4317400022013642));
}

TEST(LatinHypercube, DimensionsDoNotFollowEachOther) {
  const LatinHypercube hypercube(1000, 1);
  // Of 1000 independent pairs the correlation has a standard error of 1/sqrt(1000) = 0.032.
  EXPECT_NEAR(correlation_of(hypercube.dimension("a"), hypercube.dimension("b")), 0.0, 4 * 0.032);
}

// The method leaves what reordering by ranks makes of the scores: less than a hundredth of 400 draws.
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

// Two that correlate nearly perfectly have nearly the same rank in every draw.
TEST(Correlate, ReachesNearlyOne) {
  const LatinHypercube hypercube(200, 3);
  Columns columns{hypercube.dimension("a"), hypercube.dimension("b")};
  correlate(columns, {{1.0, 0.9999}, {0.9999, 1.0}});
  for (std::size_t draw = 0; draw < 200; ++draw) EXPECT_NEAR(columns[0][draw], columns[1][draw], 0.03) << draw;
}

RC_GTEST_PROP(Correlate, LeavesEveryDimensionItsStrata, ()) {
  const auto draws = *rc::gen::inRange<std::size_t>(1, 60);
  const auto dimensions = *rc::gen::inRange<std::size_t>(1, 6);
  // Equal correlations of all pairs are positive definite from -1 / (dimensions - 1) to 1.
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

// 5 % of a normal distribution lie below -1.644854, half of it below 0.
TEST(Normal, HasItsQuantiles) {
  EXPECT_NEAR(normal_quantile(0.05), -1.644854, 1e-6);
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_share(-1.644854), 0.05, 1e-7);
}

// `fitted_to` of mi300x.yaml: RCCL all-reduce up to 16 GiB, SDMA all-gather from 1 KiB to 2 GiB, copies up to 64 MiB.
TEST(Fidelity, IsCalibratedWithinTheSizesThatWereMeasured) {
  using enum models::CollectiveKind;
  const models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(fidelity_of(collective(models::Backend::rccl, all_reduce, 16_GiB), platform), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of(collective(models::Backend::rccl, all_reduce, 17_GiB), platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(collective(models::Backend::sdma, all_gather, 1_KiB), platform), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of(collective(models::Backend::sdma, all_gather, 4_GiB), platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(models::SdmaCopySpec{0, 1, 64_MiB, {}}, platform), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of(models::SdmaCopySpec{0, 1, 65_MiB, {}}, platform), Fidelity::extrapolated);
}

TEST(Fidelity, IsExtrapolatedToOtherWorkOfTheSameEnginesOrLibrary) {
  using enum models::CollectiveKind;
  const models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(fidelity_of(collective(models::Backend::sdma, all_to_all, 1_MiB), platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(collective(models::Backend::rccl, broadcast, 1_MiB), platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(models::SdmaCopySpec{0, models::host_device, 1_MiB, {}}, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of(models::SdmaCopySpec{0, 1, 1_MiB, 3}, platform), Fidelity::extrapolated);
  models::CollectiveSpec fewer = collective(models::Backend::sdma, all_gather, 1_MiB);
  fewer.gpus = 4;
  EXPECT_EQ(fidelity_of(fewer, platform), Fidelity::extrapolated);
}

// mi300x.yaml was fitted to 4096x4864x32896, whose matrices are of 38 to 306 MiB. A GEMM of one row reads as much, by a
// matrix of 16 KiB.
TEST(Fidelity, OfAGemmIsThatOfItsMatrices) {
  const models::PlatformSpec platform = mi300x().spec;
  EXPECT_EQ(fidelity_of({8192, 8192, 8192}, 304, platform), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of({8192, 8192, 8192}, 240, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of({1, 8192, 8192}, 304, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of({8192, 8192, 8192, models::Dtype::fp16}, 304, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of({8192, 8192, 8192, models::Dtype::fp8}, 304, platform), Fidelity::extrapolated);
  EXPECT_EQ(fidelity_of({8192, 57344, 8192}, 304, platform), Fidelity::extrapolated);
  models::PlatformSpec unmeasured = platform;
  unmeasured.fitted_to.clear();
  EXPECT_EQ(fidelity_of({8192, 8192, 8192}, 304, unmeasured), Fidelity::assumed);
}

TEST(Fidelity, OfAMachineWithOtherParametersIsExtrapolated) {
  const auto gather = collective(models::Backend::sdma, models::CollectiveKind::all_gather, 1_MiB);
  EXPECT_EQ(fidelity_of(gather, mi300x({"gpu.sdma.transfer_setup=0.2us"}).spec), Fidelity::extrapolated);
}

TEST(Fidelity, IsAssumedWhereNothingWasMeasured) {
  models::PlatformSpec platform = mi300x().spec;
  platform.fitted_to.clear();
  EXPECT_EQ(fidelity_of(collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_GiB), platform),
            Fidelity::assumed);
}

TEST(Spread, IsThatOfTheRowWithTheSize) {
  const models::PlatformSpec platform =
      fitted("fitted_to:\n" + row_of("copy", "1 KiB", "1 MiB", "0.1") + row_of("copy", "4 MiB", "1 GiB", "0.02")).spec;
  const auto of_copy = [&platform](sim::Bytes bytes) {
    return spread_of(models::SdmaCopySpec{0, 1, bytes, {}}, platform).relative;
  };
  EXPECT_EQ(of_copy(512_KiB), 0.1);
  EXPECT_EQ(of_copy(64_MiB), 0.02);
  // Twice the largest of the one, half the smallest of the other, and beyond both.
  EXPECT_EQ(of_copy(sim::Bytes(1.9 * 0x1p20)), 0.1);
  EXPECT_EQ(of_copy(sim::Bytes(2.1 * 0x1p20)), 0.02);
  EXPECT_EQ(of_copy(4_GiB), 0.02);
  EXPECT_EQ(of_copy(sim::Bytes(1.0)), 0.1);
}

TEST(Spread, OfWorkThatNoRowIsNamedAfterIsTheWorstOfTheSameLibrary) {
  using enum models::CollectiveKind;
  const models::PlatformSpec platform = fitted("fitted_to:\n" + row_of("rccl_all_gather", "1 KiB", "1 GiB", "0.04") +
                                               row_of("rccl_all_reduce", "1 KiB", "1 GiB", "0.07"))
                                            .spec;
  const auto spread = [&platform](models::Backend backend, models::CollectiveKind kind) {
    return spread_of(collective(backend, kind, 1_MiB), platform).relative;
  };
  EXPECT_EQ(spread(models::Backend::rccl, all_gather), 0.04);
  EXPECT_EQ(spread(models::Backend::rccl, all_to_all), 0.07);
  EXPECT_EQ(spread(models::Backend::sdma, all_gather), 0.0);
  EXPECT_EQ(spread_of(models::GemmShape{512, 512, 512}, platform).relative, 0.0);
  EXPECT_EQ(spread_of(models::ElementwiseSpec{1_MiB, 1_MiB, {}}, platform).relative, 0.0);
}

// Of 512x512x65536 two matrices have 64 MiB and the third 0.5 MiB; those of 4096x4096x4096 have 32 MiB, which two rows
// hold.
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

TEST(Fidelity, ARangeThatEndsBeforeItBeginsIsAFaultOfThePlatformFile) {
  try {
    mi300x({"fitted_to[0].largest=1 B"});
    FAIL() << "accepted";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("fitted_to[0].largest: is below the smallest"));
  }
}

}  // namespace
}  // namespace c3sim::study
