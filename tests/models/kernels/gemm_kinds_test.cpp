// Kernels that are not one workgroup per tile, and GEMMs whose traffic was measured.
#include <gtest/gtest.h>

#include <vector>

#include "models/kernels/gemm.h"
#include "models/kernels/gemm_traffic.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

struct Outcome {
  double us = 0.0;
  double l2_bytes = 0.0;
  double cache_bytes = 0.0;
  double hbm_bytes = 0.0;
};

Outcome run(const PlatformSpec& platform, GemmShape shape) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  Outcome outcome;
  outcome.us = sim::to_microseconds(time_of(simulator, run_kernel(node, 0, gemm_kernel(node.spec().gpu, shape))));
  const Memory& memory = node.gpu(0).memory();
  outcome.l2_bytes = node.network().served(memory.l2());
  outcome.cache_bytes = node.network().served(memory.levels()[1].resource);
  outcome.hbm_bytes = node.network().served(memory.hbm());
  return outcome;
}

PlatformSpec with_kernel(int split_k) {
  PlatformSpec platform = round_platform();
  platform.gpu.gemm.library.kernels.front().split_k = split_k;
  return platform;
}

// One tile and eight CUs, of which each takes an eighth of the contraction.
TEST(SplitK, LetsAllCusWorkOnOneTile) {
  EXPECT_NEAR(run(with_kernel(1), {128, 128, 1024}).us, dispatch_us + 1.024 * tile_us, 1e-5);
  EXPECT_NEAR(run(with_kernel(8), {128, 128, 1024}).us, dispatch_us + 1.024 * tile_us / 8.0, 1e-5);
}

// Two tiles, one on each XCD. Panels are asked for once whoever reads them: 2 * 128 * 1000 elements of 2 B a tile. One
// workgroup writes a result of 128 * 128 elements of 2 B; each of four reads and writes them at 4 B.
TEST(SplitK, PaysForPartialSums) {
  EXPECT_NEAR(run(with_kernel(1), {256, 128, 1000}).l2_bytes, 2.0 * (512'000.0 + 32'768.0), 1.0);
  EXPECT_NEAR(run(with_kernel(4), {256, 128, 1000}).l2_bytes, 2.0 * (512'000.0 + 4.0 * 2.0 * 65'536.0), 1.0);
}

// Two workgroups that split a contraction share no panel, two tiles of a row share that of A: (2 + 1) * 128 against
// 2 * 2 * 128 elements of each column of k.
TEST(SplitK, PartsOfATileShareNoPanel) {
  GemmSpec spec = round_gemm();
  const std::vector<int> residents{2, 0};
  const auto panels = [&](int split_k, GemmShape shape) {
    spec.library.kernels.front().split_k = split_k;
    const GemmPlan plan = plan_with(spec, shape);
    const GemmTraffic traffic = estimate_traffic(plan, round_memory(), {residents});
    return traffic.l2 > 0.0 ? traffic.beyond_l2.reads * plan.piece_flops() - (split_k > 1 ? 65'536.0 : 0.0) : 0.0;
  };
  EXPECT_NEAR(panels(1, {256, 128, 1000}) / panels(2, {128, 128, 2000}), 3.0 / 4.0, 1e-3);
}

// Nine tiles on eight CUs are two waves, whoever deals them.
TEST(GemmSchedule, CountsWholeWaves) {
  PlatformSpec platform = with_kernel(1);
  for (const Dealing schedule : {Dealing::per_xcd, Dealing::resident, Dealing::stealing}) {
    platform.gpu.gemm.library.schedule = schedule;
    EXPECT_NEAR(run(platform, {9 * 128, 128, 1000}).us, 2.0 * (dispatch_us + tile_us), 1e-5);
  }
}

// Eight whole tiles, and the ninth in eight parts: an eighth of its steps each, and twice what comes around these, a
// quarter of them, as parts are added up. Where that is more than a tile takes, nothing is shared.
TEST(SharedLastWave, IsCutIntoEvenParts) {
  PlatformSpec platform = with_kernel(1);
  GemmLibrary& library = platform.gpu.gemm.library;
  library.schedule = Dealing::resident;
  library.shares_last = true;
  const GemmShape nine{9 * 128, 128, 1000};
  EXPECT_NEAR(run(platform, nine).us, 2.0 * dispatch_us + (1.0 + 1.0 / 8.0) * tile_us, 1e-5);
  EXPECT_NEAR(run(platform, {16 * 128, 128, 1000}).us, 2.0 * (dispatch_us + tile_us), 1e-5) << "whole waves";
  EXPECT_NEAR(run(platform, {128, 128, 1000}).us, dispatch_us + tile_us / 8.0, 1e-5) << "less than a wave";
  library.tile_overhead = 1.0;  // cycles per element: 16384 beside 65536
  EXPECT_NEAR(run(platform, nine).us, 2.0 * dispatch_us + (1.25 + 0.125 + 0.5) * tile_us, 1e-5);
  library.tile_overhead = 4.0;
  EXPECT_NEAR(run(platform, nine).us, 2.0 * (dispatch_us + 2.0 * tile_us), 1e-5);
}

// Half of the operands fits the cache.
TEST(ColdOperands, LengthenTheStepsThatMissTheCache) {
  PlatformSpec platform = with_kernel(1);
  const GemmShape shape{1024, 128, 1000};
  const double operands = 2.0 * 1000.0 * (1024.0 + 128.0);
  platform.gpu.gemm.library.cold_operands = 0.5;
  platform.gpu.memory.cache_capacity = sim::Bytes(operands);
  EXPECT_NEAR(run(platform, shape).us, dispatch_us + tile_us, 1e-5);
  platform.gpu.memory.cache_capacity = sim::Bytes(operands / 2.0);
  EXPECT_NEAR(run(platform, shape).us, dispatch_us + 1.25 * tile_us, 1e-5);
}

TEST(GemmStartUp, ComesBeforeTheFirstWorkgroupAndAgainToAddUpParts) {
  PlatformSpec platform = with_kernel(1);
  platform.gpu.gemm.library.start_up = 7_us;
  EXPECT_NEAR(run(platform, {128, 128, 1024}).us, 7.0 + dispatch_us + 1.024 * tile_us, 1e-5);
  platform.gpu.gemm.library.kernels.front().split_k = 8;
  EXPECT_NEAR(run(platform, {128, 128, 1024}).us, 14.0 + dispatch_us + 1.024 * tile_us / 8.0, 1e-5);
}

// One tile of a size that no kernel was tuned for: all eight CUs share its contraction, if the library splits.
TEST(GemmLibrarySplits, ContractionsThatLeaveCusWithoutWork) {
  PlatformSpec platform = with_kernel(1);
  EXPECT_EQ(plan_gemm(platform.gpu, {128, 128, 1024}).pieces(), 1);
  platform.gpu.gemm.library.splits = true;
  EXPECT_EQ(plan_gemm(platform.gpu, {128, 128, 1024}).pieces(), 8);
  EXPECT_EQ(plan_gemm(platform.gpu, {128, 128, 16}).pieces(), 2) << "two steps of eight";
  EXPECT_EQ(plan_gemm(platform.gpu, {8 * 128, 128, 1024}).pieces(), 8) << "a tile for each CU";
}

// A quarter of the matrix rate instead of half of it; bytes as measured, at every level.
TEST(ProfiledGemm, TakesItsTimeAndBytesFromTheProfile) {
  const GemmShape shape{1024, 128, 1000};
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  platform.gpu.gemm.profiles.push_back({shape, 0.25, sim::Bytes(8e6), sim::Bytes(5e6), sim::Bytes(3e6)});
  const Outcome outcome = run(platform, shape);
  EXPECT_NEAR(outcome.us, dispatch_us + 2.0 * tile_us, 1e-5);
  EXPECT_NEAR(outcome.l2_bytes, 8e6, 1.0);
  EXPECT_NEAR(outcome.cache_bytes, 5e6, 1.0);
  EXPECT_NEAR(outcome.hbm_bytes, 3e6, 1.0);
  EXPECT_NEAR(run(platform, {1024, 128, 1008}).us, dispatch_us + 1.008 * tile_us, 1e-5)
      << "another shape has no profile";
}

// What the estimate loses with half of the Infinity Cache, the profile loses in proportion.
TEST(ProfiledGemm, LosesToOthersWhatTheEstimateLoses) {
  const GemmShape shape{4096, 4096, 1000};
  const GemmSpec estimated = round_gemm();
  GemmSpec profiled = estimated;
  profiled.profiles.push_back({shape, 0.5, sim::Bytes(4e9), sim::Bytes(1e9), sim::Bytes(1e8)});
  MemorySpec memory = round_memory();
  memory.cache_capacity = sim::Bytes(20e6);
  const GemmPlan plan = plan_with(profiled, shape);
  const GemmTrafficModel model(plan, memory, 4, 1.0);
  const std::vector<int> residents(static_cast<std::size_t>(memory.xcds), 4);
  const auto hbm = [&](double share) { return model.on({residents, 1.0, 1.0, share}).hbm_bytes(); };
  const auto estimate = [&](double share) {
    return estimate_traffic(plan, memory, {residents, 1.0, 1.0, share}).hbm_bytes();
  };
  ASSERT_GT(estimate(0.5), 1.1 * estimate(1.0));
  EXPECT_NEAR(hbm(0.5) / hbm(1.0), estimate(0.5) / estimate(1.0), 1e-9);
}

}  // namespace
}  // namespace c3sim::models
