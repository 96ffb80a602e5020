#include "models/kernels/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "models/kernels/gemm_traffic.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;

constexpr double element = GemmShape::element_bytes;

// Of that full tile of the round machine: panels of
// 2 * 128 rows and columns, and the tile itself, at 2 B an element.
constexpr double panel_bytes = 512'000.0;
constexpr double tile_bytes = 32'768.0;

struct GemmOutcome {
  double us = 0.0;
  double l2_bytes = 0.0;
  double beyond_l2_bytes = 0.0;
  double hbm_bytes = 0.0;
};

// A GEMM on GPU 0, without the host. `disturb` is called on the node before it starts.
template <class Disturb>
GemmOutcome run_on_gpu0(const PlatformSpec& platform, GemmShape shape, const Stream& stream, Disturb disturb) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  disturb(node);
  GemmOutcome outcome;
  outcome.us =
      sim::to_microseconds(time_of(simulator, run_kernel(node, 0, gemm_kernel(node.spec().gpu, shape, stream))));
  const Memory& memory = node.gpu(0).memory();
  outcome.l2_bytes = node.network().served(memory.l2());
  outcome.beyond_l2_bytes = node.network().served(memory.levels()[1].resource);
  outcome.hbm_bytes = node.network().served(memory.hbm());
  return outcome;
}

GemmOutcome run_on_gpu0(const PlatformSpec& platform, GemmShape shape, CuMask mask = {}) {
  return run_on_gpu0(platform, shape, {mask}, [](Node&) {});
}

// Behind other work, which has left nothing of its operands in the caches.
GemmOutcome run_cold(const PlatformSpec& platform, GemmShape shape) {
  Stream stream;
  stream.cached_operands = false;
  return run_on_gpu0(platform, shape, stream, [](Node&) {});
}

// Distances: to (1, 1, 1) 5, to (7, 5, 1) 3.
TEST(GemmPlan, TheKernelOfTheNearestTunedSizeIsTaken) {
  GemmSpec spec = round_gemm();
  GemmKernelSpec wide = spec.library.kernels.front();
  wide.tuned_for = {7, 5, 1};
  wide.tile_n = 256;
  spec.library.kernels.push_back(wide);
  EXPECT_EQ(plan_with(spec, {4, 5, 1}).kernel.tile_n, 256);
  EXPECT_EQ(plan_with(spec, {2, 1, 1}).kernel.tile_n, 128);
  EXPECT_TRUE(plan_with(spec, {7, 5, 1}).tuned);
  EXPECT_FALSE(plan_with(spec, {7, 5, 2}).tuned);
}

// Eight CUs, a tile of 128x128 for each of eight products: as long as one alone, and each reads panels of its own.
TEST(Gemm, OfSeveralProductsFillsTheGpuWithAllOfThem) {
  const GemmOutcome one = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000});
  const GemmOutcome eight = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000, .products = 8});
  const GemmOutcome sixteen = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000, .products = 16});
  EXPECT_NEAR(eight.us, one.us, 0.05 * one.us);
  EXPECT_NEAR(sixteen.us, 2.0 * eight.us, 0.05 * eight.us);
  EXPECT_NEAR(eight.beyond_l2_bytes, 8.0 * one.beyond_l2_bytes, 1.0);
}

// Eight CUs. Nine tiles of 128x128 are two waves; five of 128x256 are one of twice the time, and four of those as well.
TEST(GemmPlan, ALibraryMayTakeTheKernelOfLeastModelledTime) {
  GemmSpec spec = round_gemm();
  spec.library.by_modelled_time = true;
  GemmKernelSpec wide = spec.library.kernels.front();
  wide.tuned_for = {128, 512, 64};
  wide.tile_n = 224;
  spec.library.kernels.push_back(wide);
  EXPECT_EQ(plan_with(spec, {128, 128 * 9, 64}).kernel.tile_n, 224) << "six tiles, one wave of 7/4";
  EXPECT_EQ(plan_with(spec, {128, 128 * 8, 64}).kernel.tile_n, 128) << "one wave of 1";
  EXPECT_EQ(plan_with(spec, {128, 512, 64}).kernel.tile_n, 224) << "the very size";
}

// In a step of 8 along k a CU multiplies for 2 * 128 * 128 * 8 / 500 = 524 cycles; a step of at least 2048 is four
// times that; and 0.5 cycles for each of 16384 elements come once.
TEST(GemmPlan, EfficiencyFollowsFromWhatBindsAStep) {
  const auto efficiency = [](const auto& change) {
    GemmSpec spec = round_gemm();
    change(spec.library);
    return plan_with(spec, {128, 128, 800}).efficiency;
  };
  const double multiplying = 2.0 * 128 * 128 * 800 / 1000.0;
  EXPECT_DOUBLE_EQ(efficiency([](GemmLibrary&) {}), 0.5);
  EXPECT_NEAR(efficiency([](GemmLibrary& library) { library.least_step = 2048.0; }), multiplying / (100 * 2048.0),
              1e-12);
  EXPECT_NEAR(efficiency([](GemmLibrary& library) { library.tile_overhead = 0.5; }),
              multiplying / (2.0 * multiplying + 8192.0), 1e-12);
}

// A workgroup that loads and multiplies by turns has the pipes half of the time, two of a CU have them always.
TEST(GemmPlan, AWorkgroupThatDoesNotLoadAheadKeepsThePipesBusyHalfOfTheTime) {
  GemmSpec spec = round_gemm();
  const GemmPlan ahead = plan_with(spec, {128, 128, 800});
  spec.library.loads_ahead = false;
  const GemmPlan by_turns = plan_with(spec, {128, 128, 800});
  EXPECT_EQ(ahead.per_cu, 1);
  EXPECT_DOUBLE_EQ(by_turns.efficiency, ahead.efficiency / 2.0);
}

// Rows of 800 elements of 2 B are 1600 B apart: a multiple of 400, but not of 1024.
TEST(GemmPlan, RowsThatLieInFewChannelsTakeLongerInTheL2) {
  GemmSpec spec = round_gemm();
  const double free = plan_with(spec, {128, 128, 800}).l2_conflicts;
  spec.library.row_conflicts = 1e6;
  spec.library.conflicting_rows = sim::Bytes(1024.0);
  EXPECT_EQ(plan_with(spec, {128, 128, 800}).l2_conflicts, free);
  spec.library.conflicting_rows = sim::Bytes(400.0);
  EXPECT_GT(plan_with(spec, {128, 128, 800}).l2_conflicts, free);
}

// Half of the efficiency for operands that lie as those of a gradient of weights do, whose kernels are those of others.
// The operands of a step, 2 B * 256 * 8, take 2048 cycles to come in at 2 B a cycle, however many CUs share a load.
TEST(GemmPlan, NoCuMultipliesFasterThanItsOperandsArrive) {
  GpuSpec gpu = round_platform().gpu;
  gpu.streams.bytes_per_cycle = 2.0;
  for (const int cluster : {1, 2}) {
    gpu.gemm.library.kernels.front().cluster_m = cluster;
    EXPECT_NEAR(plan_gemm(gpu, {256, 128, 800}).efficiency, 2.0 * 128 * 128 * 8 / 1000.0 / 2048.0, 1e-12) << cluster;
  }
}

// Its 64 tiles of 64 rows leave more than half of the SMs without work. Of a contraction of 2048 the parts would be as
// long as the 16 stages of the pipeline. A profiler named a kernel that splits for 4096 alone (gemm_kernels.csv).
TEST(GemmPlan, NoContractionIsSplitIntoPartsThatThePipelineHolds) {
  const GpuSpec gpu = read_platform(platform_file("h200")).gpu;
  EXPECT_EQ(plan_gemm(gpu, {4096, 8, 2048}).kernel.split_k, 1);
  EXPECT_GT(plan_gemm(gpu, {4096, 8, 4096}).kernel.split_k, 1);
}

TEST(GemmPlan, OfAGradientHasTheEfficiencyOfItsOperands) {
  GpuSpec gpu = round_platform().gpu;
  PrecisionSpec& tf32 = gpu.gemm.others[static_cast<std::size_t>(Dtype::tf32)].emplace();
  tf32 = {.flops_per_cycle_per_cu = 500.0, .weight_gradient = 0.5};
  GemmShape shape{128, 128, 800, Dtype::tf32};
  const GemmPlan forward = plan_gemm(gpu, shape);
  shape.layout = Layout::input_gradient;
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, shape).efficiency, forward.efficiency);
  shape.layout = Layout::weight_gradient;
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, shape).efficiency, 0.5 * forward.efficiency);
  EXPECT_EQ(plan_gemm(gpu, shape).tuned, forward.tuned);
}

// L2s of 32 GB/s for four CUs each at 2 GHz are 4 B a cycle for a CU: 2 B * 256 * 8 of operands take 1024 cycles.
TEST(GemmPlan, WhatTheL2BindsIsNoMatterOfTheCus) {
  GpuSpec gpu = round_platform().gpu;
  gpu.memory.l2_rate = sim::BytesPerSecond(32e9);
  const GemmPlan plan = plan_gemm(gpu, {128, 128, 800});
  EXPECT_NEAR(plan.cycles, 100 * 1024.0, 1e-6);
  EXPECT_DOUBLE_EQ(plan.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(plan.l2_conflicts, 1.0);
}

// Tiles of 128x128 in clusters of 4 along m and 2 along n: an element of k takes 128 / 2 rows of A where there are two
// tiles along n and 128 / 4 columns of B where there are four along m, and all of them where there is one.
TEST(GemmPlan, AClusterSharesNoLoadWithNeighboursThatAreNotThere) {
  GpuSpec gpu = round_platform().gpu;
  GemmKernelSpec& kernel = gpu.gemm.library.kernels.front();
  kernel.cluster_m = 4;
  kernel.cluster_n = 2;
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, {1024, 1024, 64}).loaded(), 64.0 + 32.0);
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, {128, 1024, 64}).loaded(), 64.0 + 128.0);
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, {1024, 128, 64}).loaded(), 128.0 + 32.0);
  EXPECT_DOUBLE_EQ(plan_gemm(gpu, {128, 128, 64}).loaded(), 128.0 + 128.0);
}

// A tile of 256x256 fills the LDS of a CU, one of 64x64 with 32 along k takes an eighth; registers leave room for six.
TEST(GemmPlan, OccupancyFollowsFromWhatAWorkgroupNeeds) {
  const GpuSpec gpu = mi300x({"gpu.gemm.library=rocblas"}).gpu;
  EXPECT_EQ(plan_gemm(gpu, {8192, 8192, 8192}).per_cu, 1);
  const GemmPlan small = plan_gemm(gpu, {768, 102144, 192});
  EXPECT_EQ(small.kernel.tile_m, 64);
  EXPECT_GE(small.per_cu, 5);
  EXPECT_LE(small.per_cu, 7);
}

// Both have elements of two bytes and the same matrix rate: a size that a library was tuned for in bf16 takes as long
// in fp16.
TEST(GemmPlan, OfFp16IsThatOfBf16) {
  for (const std::string name : {"mi300x", "h200", "mi355x"}) {
    const GpuSpec gpu = read_platform(platform_file(name)).gpu;
    for (GemmShape shape : {GemmShape{8192, 8192, 8192}, GemmShape{4096, 4096, 4096}, GemmShape{1000, 40, 5000}}) {
      const GemmPlan bf16 = plan_gemm(gpu, shape);
      shape.dtype = Dtype::fp16;
      const GemmPlan fp16 = plan_gemm(gpu, shape);
      EXPECT_EQ(fp16.tuned, bf16.tuned) << name;
      EXPECT_EQ(fp16.kernel.tile_m, bf16.kernel.tile_m) << name;
      EXPECT_EQ(fp16.kernel.tile_n, bf16.kernel.tile_n) << name;
      EXPECT_DOUBLE_EQ(fp16.cycles, bf16.cycles) << name;
    }
  }
}

TEST(GemmPlan, KernelsOfAnotherFormatServeWhereThereAreNoOthers) {
  GemmSpec spec = round_gemm();
  for (GemmKernelSpec& kernel : spec.library.kernels) kernel.tuned_for.dtype = Dtype::fp8;
  EXPECT_EQ(plan_with(spec, {128, 128, 800}).kernel.tile_m, spec.library.kernels.front().tile_m);
}

// Eight tiles on eight CUs, which modelled reach half of the peak.
TEST(GemmPlan, WhatWasMeasuredOfAKernelIsCarriedToOtherSizes) {
  GemmSpec spec = round_gemm();
  GemmKernelSpec& kernel = spec.library.kernels.front();
  kernel.tuned_for = {1024, 128, 800};
  const double modelled = plan_with(spec, {128, 128, 1600}).cycles;
  kernel.tuned_efficiency = 0.625;
  EXPECT_NEAR(plan_with(spec, {128, 128, 1600}).cycles, modelled / 1.25, 1e-6);
  EXPECT_NEAR(plan_with(spec, {128, 128, 1600}).efficiency, 0.625, 1e-12);
  kernel.tuned_efficiency = 0.25;
  const GemmPlan slow = plan_with(spec, {128, 128, 1600});
  EXPECT_NEAR(slow.cycles, 2.0 * modelled, 1e-6);
  EXPECT_DOUBLE_EQ(slow.efficiency, 0.5) << "loads that hinder each other hold the L2 back, not the CU";
  EXPECT_GT(slow.l2_conflicts, 1.0);
}

// ceil(129 / 128) x ceil(300 / 128) tiles of 2 * 128 * 128 * k flops.
TEST(GemmPlan, TilesAtTheEdgeArePadded) {
  const GemmPlan plan = plan_with(round_gemm(), {129, 300, 10});
  EXPECT_EQ(plan.tiles_m, 2);
  EXPECT_EQ(plan.tiles_n, 3);
  EXPECT_EQ(plan.pieces(), 6);
  EXPECT_DOUBLE_EQ(plan.piece_flops(), 327'680.0);
}

TEST(GemmTime, OfASmallProductIsTheLaunchAndOnePaddedTile) {
  // 2 * 128 * 128 * 16 flops at 0.5 TFLOP/s are 1.048576 us.
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1, 1, 16}).us, dispatch_us + 1.048576, 1e-5);
}

TEST(GemmTime, OfAPaddedTileIsThatOfAFullOne) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {129, 129, 1000}).us, dispatch_us + tile_us, 1e-5);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {256, 256, 1000}).us, dispatch_us + tile_us, 1e-5);
}

// Eight CUs: the ninth tile takes a wave of its own.
TEST(GemmTime, QuantisesInWaves) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}).us, dispatch_us + tile_us, 1e-5);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1025, 128, 1000}).us, 2.0 * (dispatch_us + tile_us), 1e-5);
}

// Two CUs of each XCD: eight tiles are two waves. Three: six tiles, then two.
TEST(GemmTime, AMaskMakesMoreWaves) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}, {0, 2}).us, 2.0 * (dispatch_us + tile_us), 1e-5);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}, {1, 4}).us, 2.0 * (dispatch_us + tile_us), 1e-5);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}, {3, 4}).us, 4.0 * (dispatch_us + tile_us), 1e-5);
}

// A step along k takes 1049 cycles at least, of which a workgroup multiplies for 524: alone on its CU it reaches half
// of the matrix pipes, two have all of them.
TEST(GemmTime, WorkgroupsThatShareACuShareItsMatrixPipes) {
  PlatformSpec platform = round_platform();
  platform.gpu.gemm.library.kernels.front().workgroup = part_of_cu(2);
  platform.gpu.gemm.library.least_step = 2.0 * 524.288;
  EXPECT_NEAR(run_on_gpu0(platform, {1024, 128, 1000}).us, dispatch_us + 2.0 * tile_us, 1e-5);
  EXPECT_NEAR(run_on_gpu0(platform, {2048, 128, 1000}).us, dispatch_us + 2.0 * tile_us, 1e-5);
}

// The same where ports of 1 GB/s hold both back. Each four tiles of an XCD, one to a CU, take 5 * 128 rows and columns,
// so that one moves 5/8 of its panels; all sixteen of the GPU have 2 GB/s.
TEST(GemmTime, WorkgroupsThatShareACuShareItsLoadsToo) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.port_rate = sim::BytesPerSecond(1e9);
  platform.gpu.gemm.library.kernels.front().workgroup = part_of_cu(2);
  const double all_us = 16.0 * (5.0 / 8.0 * panel_bytes + tile_bytes) / 2e3;
  EXPECT_NEAR(run_on_gpu0(platform, {2048, 128, 1000}).us, dispatch_us + all_us, 0.1);
}

TEST(GemmTime, FollowsTheMatrixClock) {
  PlatformSpec platform = round_platform();
  platform.gpu.power.matrix_clock = sim::Hertz(0.5e9);
  EXPECT_NEAR(run_on_gpu0(platform, {1024, 128, 1000}).us, dispatch_us + 2.0 * tile_us, 1e-5);
}

// One tile on each XCD: nothing is shared there, so every port carries a tile's panels and its result at 1 GB/s.
TEST(GemmTime, OfAMemoryBoundProductIsThatOfThePorts) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.port_rate = sim::BytesPerSecond(1e9);
  EXPECT_NEAR(run_on_gpu0(platform, {256, 128, 1000}).us, dispatch_us + (panel_bytes + tile_bytes) / 1e3, 1e-4);
}

// Two tiles share their panel of B, which the Infinity Cache keeps: HBM moves the compulsory bytes, at 1 GB/s.
// 2 B * (256 * 1000 + 1000 * 128 + 256 * 128) = 833536 B. Less than a millionth of the re-reads is lost.
TEST(GemmTime, OfAProductThatHbmBoundsIsThatOfItsCompulsoryBytes) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_rate = sim::BytesPerSecond(1e9);
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  const GemmOutcome outcome = run_cold(platform, {256, 128, 1000});
  EXPECT_NEAR(outcome.us, dispatch_us + 833.536, 1e-3);
  EXPECT_NEAR(outcome.hbm_bytes, 833'536.0, 1.0);
}

// In a loop of nothing else it finds A and B where it has left them, and writes its result over the one before.
TEST(GemmTime, OfAProductInALoopIsThatOfWhatTheInfinityCacheDoesNotHold) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_rate = sim::BytesPerSecond(1e9);
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  const GemmOutcome outcome = run_on_gpu0(platform, {256, 128, 1000});
  EXPECT_NEAR(outcome.hbm_bytes, 0.0, 1.0);
  EXPECT_NEAR(outcome.us, dispatch_us + tile_us, 0.1) << "its pipes bound it";
  platform.gpu.memory.cache_capacity = sim::Bytes(8e5);
  EXPECT_NEAR(run_on_gpu0(platform, {256, 128, 1000}).hbm_bytes, run_cold(platform, {256, 128, 1000}).hbm_bytes, 1.0)
      << "of a set that does not fit the oldest line goes first, and that is the next one needed";
}

// Each of two tiles takes tile_us to multiply, and HBM 833.536 us for the bytes of both.
TEST(GemmTime, BendsWhereLoadsDoNotHideBehindMultiplications) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_rate = sim::BytesPerSecond(1e9);
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  platform.gpu.gemm.library.knee = 1.0;
  EXPECT_NEAR(run_cold(platform, {256, 128, 1000}).us, dispatch_us + tile_us + 833.536, 0.1);
  platform.gpu.gemm.library.knee = 2.0;
  EXPECT_NEAR(run_cold(platform, {256, 128, 1000}).us, dispatch_us + std::hypot(tile_us, 833.536), 0.1);
}

TEST(GemmConservation, EveryTileMovesItsPanelsAndItsResultThroughTheL2) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}).l2_bytes, 8.0 * (panel_bytes + tile_bytes), 1.0);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 256, 1000}).l2_bytes, 16.0 * (panel_bytes + tile_bytes), 1.0);
}

// Four tiles on each XCD as 2 x 2: each panel is read once for two tiles.
TEST(GemmCaches, TilesOfAnXcdShareTheirPanels) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {256, 512, 1000}).beyond_l2_bytes, 4.0 * panel_bytes + 8.0 * tile_bytes,
              1.0);
}

// Two workgroups to a CU, one in the middle of its tile where the other begins: of the eight tiles of an XCD each four
// share the column's panel of B and read four panels of A, 5 * 128 rows and columns.
TEST(GemmCaches, WorkgroupsOfACuShareNoPanel) {
  PlatformSpec platform = round_platform();
  platform.gpu.gemm.library.kernels.front().workgroup = part_of_cu(2);
  EXPECT_NEAR(run_on_gpu0(platform, {2048, 128, 1000}).beyond_l2_bytes,
              2.0 * 2.0 * 5.0 / 2.0 * panel_bytes + 16.0 * tile_bytes, 100.0);
}

// A stream that fills the L2s without end leaves the GEMM nothing of them: every tile reads its panels itself.
void flood_caches(Node& node) {
  const sim::BytesPerSecond flood(1e30);
  node.gpu(0).cache_sharing().enter({flood, flood, nullptr});
}

TEST(GemmCaches, AStreamThatTakesTheL2sEndsTheSharing) {
  const GemmOutcome outcome = run_on_gpu0(round_platform(), {256, 512, 1000}, {}, flood_caches);
  EXPECT_NEAR(outcome.beyond_l2_bytes, 8.0 * (panel_bytes + tile_bytes), 1.0);
  EXPECT_NEAR(outcome.us, dispatch_us + tile_us, 1e-5) << "bound by matrix pipes all the same";
}

// Arriving half-way through the wave, it costs half of what it costs from the start: 2 instead of 4 panels saved.
TEST(GemmCaches, AStreamThatArrivesMidWayCountsFromThen) {
  const GemmOutcome outcome = run_on_gpu0(round_platform(), {256, 512, 1000}, {}, [](Node& node) {
    const sim::Time half_way = sim::to_time(sim::Seconds((dispatch_us + tile_us / 2.0) * 1e-6));
    node.simulator().schedule(half_way, [&node] { flood_caches(node); });
  });
  EXPECT_NEAR(outcome.beyond_l2_bytes, 6.0 * panel_bytes + 8.0 * tile_bytes, 100.0);
}

TEST(GemmTraffic, WithoutCachesEveryTileReadsItsPanelsFromHbm) {
  const GemmPlan plan = plan_with(round_gemm(), {1024, 1024, 1000});
  const std::vector<int> residents{4, 4};
  const GemmTraffic traffic = estimate_traffic(plan, round_memory(), {residents, 1.0, 0.0, 0.0});
  EXPECT_DOUBLE_EQ(traffic.beyond_l2.reads * plan.piece_flops(), panel_bytes);
  EXPECT_DOUBLE_EQ(traffic.beyond_l2.writes * plan.piece_flops(), tile_bytes);
  EXPECT_DOUBLE_EQ(traffic.beyond_l2.cache_hits, 0.0);
  EXPECT_DOUBLE_EQ(traffic.l2 * plan.piece_flops(), panel_bytes + tile_bytes);
}

// The window of R tiles kept in a square is 2 B * 2 sqrt(R) * 128 * drift. As long as it fits into 4 MiB, a larger
// square shares more; once it spans several times that, re-reads come too late, and the fewer tiles compete the better.
TEST(GemmTraffic, FewerResidentsShareBetterOnlyWhereTheL2OverflowsAndMoreOnlyWhereItDoesNot) {
  const auto reads = [](std::int64_t drift, int residents) {
    GemmSpec spec = round_gemm();
    spec.library.l2_drift = drift;
    const GemmPlan plan = plan_with(spec, {65536, 65536, 65536});
    const std::vector<int> both{residents, residents};
    return estimate_traffic(plan, round_memory(), {both}).beyond_l2.reads;
  };
  EXPECT_GT(reads(64, 74), reads(64, 76));      // 0.3 MB
  EXPECT_LT(reads(4096, 74), reads(4096, 76));  // 18 MB
}

// Four tiles of an XCD as 2 x 2 ask for 8 panels where 4 differ. Their window, 2 B * 4 * 128 * drift, is four times an
// L2 of so many bytes: of the 4 re-reads one finds its line.
TEST(GemmTraffic, ReReadsFindTheShareOfTheirWindowThatTheL2Holds) {
  GemmSpec spec = round_gemm();
  spec.library.l2_drift = 1000;
  MemorySpec memory = round_memory();
  memory.l2_capacity = sim::Bytes(element * 4.0 * 128.0 * 1000.0 / 4.0);
  const GemmPlan plan = plan_with(spec, {65536, 65536, 10'000});
  const std::vector<int> residents{4, 4};
  const double panel = element * 128.0 * 10'000.0;
  EXPECT_NEAR(estimate_traffic(plan, memory, {residents}).beyond_l2.reads * plan.piece_flops(), 7.0 / 4.0 * panel, 1.0);
}

double hbm_bytes(const GemmTraffic& traffic) {
  return (traffic.beyond_l2.reads + traffic.beyond_l2.writes) * (1.0 - traffic.beyond_l2.cache_hits);
}

// 4 x 4 tiles in two waves of eight, which touch a square of 128 * 2 sqrt(8) rows and columns each: 724. Together the
// operands have 1024. Where 2 B * 1024 * k fit into the Infinity Cache, HBM reads each panel once; where they do not,
// what each wave touches but for the share of the operands that is still there. k = 1e6 makes them 2 GB, 30 times the
// cache of 64 MiB.
TEST(GemmTraffic, ALaterWaveFindsPanelsOfEarlierOnesOnlyWhereTheOperandsFit) {
  const GemmPlan plan = plan_with(round_gemm(), {512, 512, 1'000'000});
  const std::vector<int> residents{4, 4};
  const auto hbm_reads = [&](MemorySpec memory) {
    const GemmTraffic traffic = estimate_traffic(plan, memory, {residents});
    return 16.0 * (hbm_bytes(traffic) * plan.piece_flops() - tile_bytes);
  };
  MemorySpec large = round_memory();
  large.cache_capacity = sim::Bytes(1e14);
  EXPECT_NEAR(hbm_reads(large), element * 1024.0 * 1e6, 1e3);
  const double touched = 2.0 * element * 256.0 * std::sqrt(8.0) * 1e6;
  const double operands = element * 1024.0 * 1e6;
  const double found = round_memory().cache_capacity.value() / operands;  // of what an earlier wave touched
  EXPECT_NEAR(hbm_reads(round_memory()), touched - found * (touched - operands), 1e4);
}

struct RandomGemm {
  GemmSpec spec = round_gemm();
  GemmPlan plan;
  MemorySpec memory = round_memory();
  std::vector<int> residents;
  double per_cu = 1.0;
};

// A shape of at least two tiles, and residents that are no more than its tiles.
RandomGemm random_gemm() {
  RandomGemm random;
  GemmKernelSpec& kernel = random.spec.library.kernels.front();
  kernel.tile_m = *rc::gen::element(16, 64, 128, 256);
  kernel.tile_n = *rc::gen::element(16, 64, 128, 256);
  random.spec.library.l2_drift = *rc::gen::inRange(1, 10'000);
  random.spec.library.cache_drift = *rc::gen::inRange(1, 10'000);
  const GemmShape shape{*rc::gen::inRange(257, 20'000), *rc::gen::inRange(257, 20'000), *rc::gen::inRange(1, 20'000)};
  random.plan = plan_with(random.spec, shape);
  const int most = static_cast<int>(std::min<std::int64_t>(80, random.plan.pieces() / 2));
  random.per_cu = *rc::gen::inRange(10, 41) / 10.0;
  random.residents = {*rc::gen::inRange(1, most + 1), *rc::gen::inRange(0, most + 1)};
  return random;
}

GemmTraffic traffic_of(const RandomGemm& g, double l2_share, double cache_share) {
  return estimate_traffic(g.plan, g.memory, {g.residents, g.per_cu, l2_share, cache_share});
}

double random_share() { return *rc::gen::inRange(0, 101) / 100.0; }

constexpr double rounding = 1e-9;

RC_GTEST_PROP(GemmTraffic, LiesBetweenTheCompulsoryBytesAndNoReuseAtAll, ()) {
  const RandomGemm g = random_gemm();
  const GemmTraffic traffic = traffic_of(g, random_share(), random_share());
  const double flops = g.plan.piece_flops() * static_cast<double>(g.plan.pieces());
  const GemmShape& shape = g.plan.shape;
  const double operands = element * static_cast<double>(shape.k) * static_cast<double>(shape.m + shape.n);
  const double no_reuse = traffic.l2 - traffic.beyond_l2.writes;
  RC_ASSERT(traffic.beyond_l2.reads * flops >= operands * (1.0 - rounding));
  RC_ASSERT(traffic.beyond_l2.reads <= no_reuse * (1.0 + rounding));
  RC_ASSERT(hbm_bytes(traffic) * flops >= shape.compulsory_bytes().value() * (1.0 - rounding));
  RC_ASSERT(traffic.beyond_l2.cache_hits >= -rounding && traffic.beyond_l2.cache_hits <= 1.0);
}

RC_GTEST_PROP(GemmTraffic, ASmallerShareOfACacheNeverMeansLessTraffic, ()) {
  const RandomGemm g = random_gemm();
  const double l2 = random_share();
  const double cache = random_share();
  const double factor = random_share();
  const GemmTraffic held = traffic_of(g, l2, cache);
  const GemmTraffic less_l2 = traffic_of(g, factor * l2, cache);
  const GemmTraffic less_cache = traffic_of(g, l2, factor * cache);
  RC_ASSERT(less_l2.beyond_l2.reads >= held.beyond_l2.reads * (1.0 - rounding));
  RC_ASSERT(hbm_bytes(less_l2) >= hbm_bytes(held) * (1.0 - rounding));
  RC_ASSERT(less_cache.beyond_l2.reads == held.beyond_l2.reads);
  RC_ASSERT(hbm_bytes(less_cache) >= hbm_bytes(held) * (1.0 - rounding));
}

// The round machine does 16 TFLOP/s at its highest clock. Four tiles of 128x128 on an XCD read 2 B * 512 * k for
// 4 * 2 * 128 * 128 * k flops, 128 flops a byte for large k; at 1000 GB/s of HBM the machine has 16 per byte, at 100 it
// has 160.
TEST(GemmMemoryBound, IsWhatDoesFewerFlopsPerByteThanTheMachine) {
  for (const auto& [hbm_rate, bound] : {std::pair{1000e9, false}, {100e9, true}}) {
    sim::Simulator simulator;
    PlatformSpec platform = round_platform();
    platform.gpu.memory.hbm_rate = sim::BytesPerSecond(hbm_rate);
    Node node(simulator, platform);
    EXPECT_EQ(is_memory_bound(plan_gemm(platform.gpu, {8192, 8192, 65536}), node.gpu(0)), bound) << hbm_rate;
  }
}

// What a person reads of a table with these rows.
std::string faults_of_table(const std::string& rows) {
  try {
    const GemmKernelTable table("m,n,k,tile_m,tile_n,depth,threads,lds_bytes,split\n" + rows, "kernels.csv");
    table.on({65536, 524288, 16});
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(GemmKernelTable, SaysWhatIsImpossible) {
  EXPECT_EQ(faults_of_table("8,8,8,256,256,64,256,65536,1\n"), "");
  EXPECT_THAT(faults_of_table("8,8,8,256,256,64,256,65537,1\n"), HasSubstr("lds_bytes: '65537'"));
  EXPECT_THAT(faults_of_table("8,8,8,256,256,64,1024,1,1\n8,8,8,256,256,64,1024,65537,1\n"),
              HasSubstr("kernels.csv:3:23: lds_bytes: '65537' must lie between 0 and 65536"));
  EXPECT_THAT(faults_of_table("8,8,8,0,256,64,256,1,1\n"), HasSubstr("tile_m: '0'"));
  EXPECT_THAT(faults_of_table("0,8,8,16,256,64,256,1,1\n"), HasSubstr("m: '0'"));
  EXPECT_THAT(faults_of_table("8,8,8,256,256,64,2048,1,1\n"), HasSubstr("threads: '2048'"));
  EXPECT_THAT(faults_of_table(""), HasSubstr("at least one kernel"));
}

// 256 accumulators, 64 for operands and 64 for addresses in each of 256 lanes: 384 KiB of the 512 of a CU.
TEST(GemmKernelTable, RegistersFollowFromTheTile) {
  const GemmKernelTable table("m,n,k,tile_m,tile_n,depth,threads,lds_bytes,split\n8,8,8,256,256,64,256,33792,1\n",
                              "kernels.csv");
  const GemmKernelSpec kernel = table.on({65536, 524288, 32}).front();
  EXPECT_EQ(kernel.workgroup.registers, 384 * 1024);
  EXPECT_EQ(kernel.workgroup.waves, 4);
  EXPECT_EQ(workgroups_that_fit({65536, 524288, 32}, kernel.workgroup), 1);
}

}  // namespace
}  // namespace c3sim::models
