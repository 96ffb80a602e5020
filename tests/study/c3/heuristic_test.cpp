#include "study/c3/strategy.h"
#include "study/program/scenario.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::CollectiveKind;
using sim::operator""_MiB;

class HeuristicTest : public testing::Test {
 protected:
  models::CollectiveSpec collective(CollectiveKind kind, sim::Bytes bytes) {
    return Scenario{"", {1, 1, 1}, kind, bytes}.collective_by(models::Backend::rccl, testbed_.platform());
  }
  Testbed testbed_{mi300x_conccl().spec};
};

// The 64 channels of an all-gather are fewer than the tiles of 4096x8192, and more than those of 64x64.
TEST_F(HeuristicTest, TheKernelOfFewerWorkgroupsGoesFirst) {
  const Scenario large{"large", {4096, 8192, 4096}, CollectiveKind::all_gather, 64_MiB};
  EXPECT_EQ(order_by_workgroups(large, testbed_.platform()), LaunchOrder::collective_first);
  const Scenario small{"small", {64, 64, 64}, CollectiveKind::all_gather, 64_MiB};
  EXPECT_EQ(order_by_workgroups(small, testbed_.platform()), LaunchOrder::gemm_first);
}

// 2 * 8192^3 operations at 0.7 of 2048 a cycle on 304 CUs at 2100 MHz (1307.4 TFLOP/s) take 1201.4 us. m = n = 8192, k
// = 16: 2 * (2 * 8192 * 16 + 8192^2) bytes, 134.7 MB, take 36.15 us at 0.7 of 5324.8 GB/s; the 2.1 Gflop take 2.3 us.
TEST_F(HeuristicTest, ALargeGemmsRooflineIsArithmeticAndAThinOnesMemory) {
  EXPECT_NEAR(roofline(models::GemmShape{8192, 8192, 8192}, testbed_.platform()).value(), 1201.4e-6, 0.1e-6);
  EXPECT_NEAR(roofline(models::GemmShape{8192, 8192, 16}, testbed_.platform()).value(), 36.15e-6, 0.02e-6);
}

// An eighth of 896 MiB to each of seven peers at 0.7 of 64 GB/s takes 2621.4 us; an all-reduce sends twice the bytes.
TEST_F(HeuristicTest, ACollectivesRooflineIsItsPayloadOverItsLinks) {
  const auto time = [&](CollectiveKind kind) {
    return roofline(collective(kind, 896_MiB), testbed_.platform()).value();
  };
  EXPECT_NEAR(time(CollectiveKind::all_gather), 2621.4e-6, 0.1e-6);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::all_to_all), time(CollectiveKind::all_gather));
  EXPECT_DOUBLE_EQ(time(CollectiveKind::all_reduce), 2.0 * time(CollectiveKind::all_gather));
}

// A compute-bound GEMM slows at least as CUs go (304 / 240), by whole waves at most half as much again; a memory-bound
// GEMM hardly slows (ConCCL Figure 5 a). A collective with half of its CUs takes about twice as long, and with 64 CUs
// no longer than with all (Figures 5 b and c).
TEST_F(HeuristicTest, TheTableKnowsWhoNeedsCus) {
  const double compute_bound = gemm_stretch(testbed_, {16384, 8192, 16384}, 64);
  EXPECT_GE(compute_bound, 1.15);
  EXPECT_LE(compute_bound, 1.5 * 304.0 / 240.0);
  EXPECT_LT(gemm_stretch(testbed_, {16384, 106496, 8192}, 64), 1.05);
  const models::CollectiveSpec all_to_all = collective(CollectiveKind::all_to_all, 512_MiB);
  EXPECT_NEAR(collective_stretch(testbed_, all_to_all, 64), 1.0, 0.01);
  EXPECT_GT(collective_stretch(testbed_, all_to_all, 16), 2.0);
}

TEST_F(HeuristicTest, SizesOfOneKindShareARowOfTheTable) {
  const auto stretch = [&](sim::Bytes bytes) {
    return collective_stretch(testbed_, collective(CollectiveKind::all_to_all, bytes), 8);
  };
  EXPECT_EQ(stretch(64_MiB), stretch(4096_MiB));
  EXPECT_EQ(stretch(1_MiB), stretch(16_MiB));
  EXPECT_NE(stretch(16_MiB), stretch(64_MiB)) << "32 MiB lies between them";
}

// A GEMM of six times its length hides the collective on any CUs, so the fewest CUs cost the GEMM least. An endless
// all-to-all hides the GEMM, and the collective gets all CUs that it can use.
TEST_F(HeuristicTest, TheShorterOneGetsWhatTheLongerOneCanSpare) {
  const models::GemmShape long_gemm{18432, 8192, 16384};
  EXPECT_EQ(cus_by_table(testbed_, {"", long_gemm, CollectiveKind::all_gather, 256_MiB}), 8);
  const models::GemmShape short_gemm{8192, 8192, 1024};
  EXPECT_EQ(cus_by_table(testbed_, {"", short_gemm, CollectiveKind::all_to_all, 4096_MiB}), 64);
}

// 1024 tiles are four waves on 256 CUs and five on eight fewer: the wave costs more than a whole collective of 18 us.
TEST_F(HeuristicTest, NothingIsReservedForACollectiveThatIsShorterThanWhatItWouldCost) {
  Testbed full_waves(mi300x({"gpu.cus_per_xcd=32", "gpu.gemm.library=persistent"}).spec);
  const Scenario scenario{"", {4864, 4096, 8192}, CollectiveKind::all_gather, sim::Bytes(4097.0)};
  EXPECT_EQ(cus_by_table(full_waves, scenario), 0);
  const C3Result result = run_strategy(full_waves, scenario, Strategy::heuristic);
  EXPECT_EQ(result.reserved_cus, 0);
  EXPECT_LE(result.makespan, result.isolated_sum());
}

TEST_F(HeuristicTest, TheStrategyDoesWhatTheHeuristicsSay) {
  const Scenario scenario{"", {8192, 8192, 8192}, CollectiveKind::all_to_all, 256_MiB};
  const C3Result result = run_strategy(testbed_, scenario, Strategy::heuristic);
  EXPECT_EQ(result.reserved_cus, cus_by_table(testbed_, scenario));
  EXPECT_EQ(result.schedule.front().name, "collective");
  EXPECT_EQ(result.schedule.front().mask, reserve(testbed_.platform(), result.reserved_cus).collective);
}

TEST_F(HeuristicTest, NothingIsReservedWhereNothingWouldBeLeft) {
  Testbed tiny(mi300x({"gpu.cus_per_xcd=1"}).spec);
  const Scenario scenario{"", {4096, 4096, 4096}, CollectiveKind::all_gather, 64_MiB};
  EXPECT_EQ(cus_by_table(tiny, scenario), 0);
  EXPECT_EQ(run_strategy(tiny, scenario, Strategy::heuristic).reserved_cus, 0);
}

}  // namespace
}  // namespace c3sim::study
