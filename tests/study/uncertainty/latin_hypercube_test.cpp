#include "study/uncertainty/latin_hypercube.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "study/uncertainty/fidelity.h"
#include "tests/study/config_fault.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using Columns = std::vector<std::vector<double>>;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

// Whether each of as many strata as there are numbers, all between 0 and 1, holds one of them.
bool is_latin(const std::vector<double>& numbers) {
  std::set<double> strata;
  for (const double number : numbers) strata.insert(std::floor(number * static_cast<double>(numbers.size())));
  const bool inside = std::ranges::all_of(numbers, [](double number) { return 0.0 < number && number < 1.0; });
  return inside && strata.size() == numbers.size();
}

// Pearson's, of normal scores.
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

// What std::seed_seq and std::mt19937_64 give is fixed by formulas of the standard ([rand.util.seedseq],
// [rand.eng.mers]). These numbers follow from them, written anew in another language.
TEST(LatinHypercube, IsTheSameOnEveryMachine) {
  const std::vector<double> numbers = LatinHypercube(4, 7).dimension("fabric.link_rate");
  EXPECT_THAT(numbers, ElementsAre(0.6379731480013798, 0.19805065179186962, 0.8487246091078469, 0.4317400022013642));
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
// Other work of the same engines or library is extrapolated to.
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
  const auto fidelity = [](const Work& work, const models::PlatformSpec& on) {
    if (const auto* const spec = std::get_if<models::CollectiveSpec>(&work)) return fidelity_of(*spec, on);
    return fidelity_of(std::get<models::SdmaCopySpec>(work), on);
  };
  for (const auto& [work, expected] : rows) {
    SCOPED_TRACE(to_string(work));
    EXPECT_EQ(fidelity(work, platform), expected);
    EXPECT_EQ(fidelity(work, other), Fidelity::extrapolated) << "a machine with other parameters";
    EXPECT_EQ(fidelity(work, unmeasured), Fidelity::assumed) << "nothing was measured";
  }
}

// mi300x.yaml was fitted to 4096x4864x32896, whose matrices are of 38 to 306 MiB. A GEMM of one row reads as much, by a
// matrix of 16 KiB.
TEST(Fidelity, OfAGemmIsThatOfItsMatrices) {
  const models::PlatformSpec platform = mi300x().spec;
  const models::GemmShape square{8192, 8192, 8192};
  EXPECT_EQ(fidelity_of(square, 304, platform), Fidelity::calibrated);
  EXPECT_EQ(fidelity_of(square, 240, platform), Fidelity::extrapolated);
  for (const models::GemmShape& shape :
       {models::GemmShape{1, 8192, 8192}, models::GemmShape{8192, 8192, 8192, models::Dtype::fp16},
        models::GemmShape{8192, 8192, 8192, models::Dtype::fp8}, models::GemmShape{8192, 57344, 8192}}) {
    EXPECT_EQ(fidelity_of(shape, 304, platform), Fidelity::extrapolated) << to_string(shape);
  }
  models::PlatformSpec unmeasured = platform;
  unmeasured.fitted_to.clear();
  EXPECT_EQ(fidelity_of(square, 304, unmeasured), Fidelity::assumed);
}

// A copy has two rows: twice the largest of the one, half the smallest of the other, and beyond both. Collectives that
// no row is named after have the worst of the same library.
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
  EXPECT_THAT(config_fault([] { mi300x({"fitted_to[0].largest=1 B"}); }),
              HasSubstr("fitted_to[0].largest: is below the smallest"));
}

}  // namespace
}  // namespace c3sim::study
