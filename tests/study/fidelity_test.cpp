#include "study/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
