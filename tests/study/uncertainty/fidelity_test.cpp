#include "study/uncertainty/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/fitted_platform.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

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
