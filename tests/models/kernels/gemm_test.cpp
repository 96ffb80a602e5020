// These tests check how a library cuts GEMMs, what the GEMMs move and how long they take on the round machine.
#include "models/kernels/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/config_fault.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;
using ::testing::HasSubstr;

// A full tile of the round machine has panels of 2 * 128 rows and columns and a result, at 2 B an element.
constexpr double panel_bytes = 512'000.0;
constexpr double tile_bytes = 32'768.0;

struct GemmOutcome {
  double us = 0.0;
  double l2_bytes = 0.0;
  double beyond_l2_bytes = 0.0;
  double hbm_bytes = 0.0;
};

// Runs a GEMM on GPU 0 without the host. Calls `disturb` on the node before the GEMM starts.
GemmOutcome run_on_gpu0(
    const PlatformSpec& platform, GemmShape shape, const Stream& stream = {},
    const std::function<void(Node&)>& disturb = [](Node&) {}) {
  LoneNode node(platform);
  disturb(node);
  GemmOutcome outcome;
  outcome.us = sim::to_microseconds(time_of(node, run_kernel(node, 0, gemm_kernel(node.spec().gpu, shape, stream))));
  const Memory& memory = node.gpu(0).memory();
  outcome.l2_bytes = node.network().served(memory.l2());
  outcome.beyond_l2_bytes = node.network().served(memory.levels()[1].resource);
  outcome.hbm_bytes = node.network().served(memory.hbm());
  return outcome;
}

// Runs the GEMM after other work, which has left none of its operands in the caches.
GemmOutcome run_cold(const PlatformSpec& platform, GemmShape shape) {
  Stream stream;
  stream.cached_operands = false;
  return run_on_gpu0(platform, shape, stream);
}

using PlatformChange = std::function<void(PlatformSpec&)>;
void nothing(PlatformSpec&) {}

PlatformSpec round_platform_with(const PlatformChange& change) {
  PlatformSpec platform = round_platform();
  change(platform);
  return platform;
}

GemmSpec with_second_kernel(const GemmShape& tuned_for, int tile_n) {
  GemmSpec spec = round_gemm();
  GemmKernelSpec second = spec.library.kernels.front();
  second.tuned_for = tuned_for;
  second.tile_n = tile_n;
  spec.library.kernels.push_back(second);
  return spec;
}

// The distance of the first shape to (1, 1, 1) is 5, and its distance to (7, 5, 1) is 3.
TEST(GemmPlan, TheKernelOfTheNearestTunedSizeIsTaken) {
  const GemmSpec spec = with_second_kernel({7, 5, 1}, 256);
  EXPECT_EQ(plan_with(spec, {4, 5, 1}).kernel.tile_n, 256);
  EXPECT_EQ(plan_with(spec, {2, 1, 1}).kernel.tile_n, 128);
  EXPECT_TRUE(plan_with(spec, {7, 5, 1}).tuned);
  EXPECT_FALSE(plan_with(spec, {7, 5, 2}).tuned);
}

// On eight CUs nine tiles of 128x128 take two waves; six of 128x224 take one wave of 7/4 the time of a 128x128 tile.
TEST(GemmPlan, ALibraryMayTakeTheKernelOfLeastModelledTime) {
  GemmSpec spec = with_second_kernel({128, 512, 64}, 224);
  spec.library.by_modelled_time = true;
  EXPECT_EQ(plan_with(spec, {128, 128 * 9, 64}).kernel.tile_n, 224) << "six tiles, one wave of 7/4";
  EXPECT_EQ(plan_with(spec, {128, 128 * 8, 64}).kernel.tile_n, 128) << "one wave of 1";
  EXPECT_EQ(plan_with(spec, {128, 512, 64}).kernel.tile_n, 224) << "the very size";
}

// In a step of 8 along k a CU multiplies for 2 * 128 * 128 * 8 / 500 = 524 cycles. A step of at least 2048 takes four
// times that; 0.5 cycles for each of 16384 elements are added once. A workgroup that alternates loading and multiplying
// has the pipes half of the time.
TEST(GemmPlan, EfficiencyFollowsFromWhatBindsAStep) {
  const auto efficiency = [](const auto& change) {
    GemmSpec spec = round_gemm();
    change(spec.library);
    const GemmPlan plan = plan_with(spec, {128, 128, 800});
    EXPECT_EQ(plan.per_cu, 1);
    return plan.efficiency;
  };
  const double multiplying = 2.0 * 128 * 128 * 800 / 1000.0;
  EXPECT_DOUBLE_EQ(efficiency([](GemmLibrary&) {}), 0.5);
  EXPECT_NEAR(efficiency([](GemmLibrary& library) { library.least_step = 2048.0; }), multiplying / (100 * 2048.0),
              1e-12);
  EXPECT_NEAR(efficiency([](GemmLibrary& library) { library.tile_overhead = 0.5; }),
              multiplying / (2.0 * multiplying + 8192.0), 1e-12);
  EXPECT_DOUBLE_EQ(efficiency([](GemmLibrary& library) { library.loads_ahead = false; }), 0.25);
}

// Rows of 800 elements of 2 B are 1600 B apart, which is a multiple of 400 but not of 1024.
TEST(GemmPlan, RowsThatLieInFewChannelsTakeLongerInTheL2) {
  GemmSpec spec = round_gemm();
  const double free = plan_with(spec, {128, 128, 800}).l2_conflicts;
  spec.library.row_conflicts = 1e6;
  spec.library.conflicting_rows = sim::Bytes(1024.0);
  EXPECT_EQ(plan_with(spec, {128, 128, 800}).l2_conflicts, free);
  spec.library.conflicting_rows = sim::Bytes(400.0);
  EXPECT_GT(plan_with(spec, {128, 128, 800}).l2_conflicts, free);
}

// At 2 B a cycle the operands of a step, 2 B * 256 * 8, arrive in 2048 cycles, however many CUs share a load.
TEST(GemmPlan, NoCuMultipliesFasterThanItsOperandsArrive) {
  GpuSpec gpu = round_platform().gpu;
  gpu.streams.bytes_per_cycle = 2.0;
  for (const int cluster : {1, 2}) {
    gpu.gemm.library.kernels.front().cluster_m = cluster;
    EXPECT_NEAR(plan_gemm(gpu, {256, 128, 800}).efficiency, 2.0 * 128 * 128 * 8 / 1000.0 / 2048.0, 1e-12) << cluster;
  }
}

// 64 tiles of 64 rows leave more than half of the SMs idle. Parts of a contraction of 2048 would be only as long as the
// 16 stages of the pipeline. A profiler named a kernel that splits for 4096 only (gemm_kernels.csv).
TEST(GemmPlan, NoContractionIsSplitIntoPartsThatThePipelineHolds) {
  const GpuSpec gpu = read_platform(platform_file("h200")).gpu;
  EXPECT_EQ(plan_gemm(gpu, {4096, 8, 2048}).kernel.split_k, 1);
  EXPECT_GT(plan_gemm(gpu, {4096, 8, 4096}).kernel.split_k, 1);
}

// In this test a gradient of weights has half of the efficiency, even by kernels of other formats.
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

// The L2s give each of four CUs 32 GB/s / 4 at 2 GHz, 4 B a cycle: 2 B * 256 * 8 of operands take 1024 cycles.
TEST(GemmPlan, WhatTheL2BindsIsNoMatterOfTheCus) {
  GpuSpec gpu = round_platform().gpu;
  gpu.memory.l2_rate = sim::BytesPerSecond(32e9);
  const GemmPlan plan = plan_gemm(gpu, {128, 128, 800});
  EXPECT_NEAR(plan.cycles, 100 * 1024.0, 1e-6);
  EXPECT_DOUBLE_EQ(plan.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(plan.l2_conflicts, 1.0);
}

// Clusters have 4 tiles of 128x128 along m and 2 along n. An element of k takes 128 / 2 rows of A if there are two
// tiles along n and 128 / 4 columns of B if there are four along m, and all 128 if there is one tile.
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

// A tile of 256x256 fills a CU's LDS; one of 64x64 with depth 32 takes an eighth, and registers leave room for six.
TEST(GemmPlan, OccupancyFollowsFromWhatAWorkgroupNeeds) {
  const GpuSpec gpu = mi300x({"gpu.gemm.library=rocblas"}).gpu;
  EXPECT_EQ(plan_gemm(gpu, {8192, 8192, 8192}).per_cu, 1);
  const GemmPlan small = plan_gemm(gpu, {768, 102144, 192});
  EXPECT_EQ(small.kernel.tile_m, 64);
  EXPECT_GE(small.per_cu, 5);
  EXPECT_LE(small.per_cu, 7);
}

// Both formats have elements of two bytes and the same matrix rate, so a size that a library was tuned for in bf16
// takes as long in fp16.
TEST(GemmPlan, OfFp16IsThatOfBf16) {
  for (const std::string name : {"mi300x", "h200", "mi355x"}) {
    SCOPED_TRACE(name);
    const GpuSpec gpu = read_platform(platform_file(name)).gpu;
    for (GemmShape shape : {GemmShape{8192, 8192, 8192}, GemmShape{4096, 4096, 4096}, GemmShape{1000, 40, 5000}}) {
      const GemmPlan bf16 = plan_gemm(gpu, shape);
      shape.dtype = Dtype::fp16;
      const GemmPlan fp16 = plan_gemm(gpu, shape);
      EXPECT_EQ(fp16.tuned, bf16.tuned);
      EXPECT_EQ(fp16.kernel.tile_m, bf16.kernel.tile_m);
      EXPECT_EQ(fp16.kernel.tile_n, bf16.kernel.tile_n);
      EXPECT_DOUBLE_EQ(fp16.cycles, bf16.cycles);
    }
  }
}

// 304 tiles of 256x224 fill the CUs of an MI300X once, and those of an MI355X twice.
TEST(GemmPlan, ATableIsTunedForTheCusThatItIsOf) {
  EXPECT_TRUE(plan_gemm(mi300x({"gpu.gemm.library=hipblaslt"}).gpu, {4096, 4096, 4096}).tuned);
  EXPECT_FALSE(plan_gemm(read_platform(platform_file("mi355x")).gpu, {4096, 4096, 4096}).tuned);
}

// 700x5120x5120 takes as long on 114 SMs as on 132 (gemms_blind_2.csv); hipBLASLt does not know of a mask.
TEST(GemmPlan, ALibraryThatIsToldOfCusHasTilesForThem) {
  const GpuSpec h200 = read_platform(platform_file("h200")).gpu;
  EXPECT_GT(plan_gemm(h200, {700, 5120, 5120}).pieces(), 114);
  EXPECT_LE(plan_gemm(h200, {700, 5120, 5120}, {0, 114}).pieces(), 114);
  const GpuSpec masked = mi300x({"gpu.gemm.library=hipblaslt"}).gpu;
  EXPECT_EQ(plan_gemm(masked, {700, 5120, 5120}).pieces(), plan_gemm(masked, {700, 5120, 5120}, {0, 20}).pieces());
}

// The nearest tuned size, 8x32768x6144, has tiles of 16x64, which would take 17 times as long as half of the product.
TEST(GemmPlan, TheNearestSizeSaysLittleFarFromAllTunedOnes) {
  EXPECT_GE(plan_gemm(mi300x({"gpu.gemm.library=rocblas"}).gpu, {1024, 32768, 16384}).kernel.tile_m, 64);
}

TEST(GemmPlan, KernelsOfAnotherFormatServeWhereThereAreNoOthers) {
  GemmSpec spec = round_gemm();
  for (GemmKernelSpec& kernel : spec.library.kernels) kernel.tuned_for.dtype = Dtype::fp8;
  EXPECT_EQ(plan_with(spec, {128, 128, 800}).kernel.tile_m, spec.library.kernels.front().tile_m);
}

// Eight tiles fill eight CUs; the model gives them half of the peak.
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

// The product has ceil(129 / 128) x ceil(300 / 128) tiles of 2 * 128 * 128 * k flops.
TEST(GemmPlan, TilesAtTheEdgeArePadded) {
  const GemmPlan plan = plan_with(round_gemm(), {129, 300, 10});
  EXPECT_EQ(plan.tiles_m, 2);
  EXPECT_EQ(plan.tiles_n, 3);
  EXPECT_EQ(plan.pieces(), 6);
  EXPECT_DOUBLE_EQ(plan.piece_flops(), 327'680.0);
}

// No kernel was tuned for this size of one tile: all eight CUs share its contraction if the library splits.
TEST(GemmPlan, ContractionsThatLeaveCusWithoutWorkAreSplit) {
  GpuSpec gpu = round_platform().gpu;
  EXPECT_EQ(plan_gemm(gpu, {128, 128, 1024}).pieces(), 1);
  gpu.gemm.library.splits = true;
  EXPECT_EQ(plan_gemm(gpu, {128, 128, 1024}).pieces(), 8);
  EXPECT_EQ(plan_gemm(gpu, {128, 128, 16}).pieces(), 2) << "two steps of eight";
  EXPECT_EQ(plan_gemm(gpu, {8 * 128, 128, 1024}).pieces(), 8) << "a tile for each CU";
}

void expect_time(const std::string& claim, const PlatformChange& change, const GemmShape& shape, double us,
                 double tolerance = 1e-5, CuMask mask = {}) {
  EXPECT_NEAR(run_on_gpu0(round_platform_with(change), shape, {mask}).us, us, tolerance) << claim;
}

void two_workgroups_a_cu(PlatformSpec& p) { p.gpu.gemm.library.kernels.front().workgroup = part_of_cu(2); }
void slow_ports(PlatformSpec& p) { p.gpu.memory.port_rate = sim::BytesPerSecond(1e9); }
void split_by_eight(PlatformSpec& p) { p.gpu.gemm.library.kernels.front().split_k = 8; }

// Each of eight CUs takes tile_us for a full tile. A small product takes the launch and one padded tile.
TEST(GemmTime, IsTheLaunchAndTheTilesOfTheBusiestCu) {
  // A small product does 2 * 128 * 128 * 16 flops at 0.5 TFLOP/s, which take 1.048576 us.
  expect_time("a small product is one padded tile", nothing, {1, 1, 16}, dispatch_us + 1.048576);
  expect_time("a padded tile takes as long as a full one", nothing, {129, 129, 1000}, dispatch_us + tile_us);
  expect_time("four full tiles are one wave", nothing, {256, 256, 1000}, dispatch_us + tile_us);
  expect_time("eight tiles are one wave", nothing, {1024, 128, 1000}, dispatch_us + tile_us);
  expect_time("the ninth tile takes a wave of its own", nothing, {1025, 128, 1000}, 2.0 * (dispatch_us + tile_us));
  // On two CUs of each XCD eight tiles take two waves. On three CUs of each, six tiles run first, then two.
  const std::vector<std::pair<CuMask, double>> masks{{{0, 2}, 2.0}, {{1, 4}, 2.0}, {{3, 4}, 4.0}};
  for (const auto& [mask, waves] : masks) {
    expect_time("a mask makes more waves", nothing, {1024, 128, 1000}, waves * (dispatch_us + tile_us), 1e-5, mask);
  }
  const PlatformChange slow = [](PlatformSpec& p) { p.gpu.power.matrix_clock = sim::Hertz(0.5e9); };
  expect_time("it follows the matrix clock", slow, {1024, 128, 1000}, dispatch_us + 2.0 * tile_us);
}

TEST(GemmTime, IsSharedByWorkgroupsOfACu) {
  // A step along k takes at least 1049 cycles, of which a workgroup multiplies for 524: alone on its CU it reaches half
  // of the matrix pipes, and two workgroups reach all.
  const PlatformChange long_steps = [](PlatformSpec& p) {
    two_workgroups_a_cu(p);
    p.gpu.gemm.library.least_step = 2.0 * 524.288;
  };
  expect_time("one workgroup has half of the pipes", long_steps, {1024, 128, 1000}, dispatch_us + 2.0 * tile_us);
  expect_time("two workgroups have all pipes", long_steps, {2048, 128, 1000}, dispatch_us + 2.0 * tile_us);
  // Ports of 1 GB/s hold both back. Each four tiles of an XCD, one per CU, take 5 * 128 rows and columns, so a tile
  // moves 5/8 of its panels; all sixteen tiles of the GPU share 2 GB/s.
  const PlatformChange slow_loads = [](PlatformSpec& p) {
    two_workgroups_a_cu(p);
    slow_ports(p);
  };
  const double all_us = 16.0 * (5.0 / 8.0 * panel_bytes + tile_bytes) / 2e3;
  expect_time("two workgroups share their loads", slow_loads, {2048, 128, 1000}, dispatch_us + all_us, 0.1);
}

// Each XCD has one tile and shares nothing: every port carries a tile's panels and its result at 1 GB/s.
TEST(GemmTime, OfAMemoryBoundProductIsThatOfThePorts) {
  expect_time("ports bound it", slow_ports, {256, 128, 1000}, dispatch_us + (panel_bytes + tile_bytes) / 1e3, 1e-4);
}

void slow_hbm(PlatformSpec& p) {
  p.gpu.memory.hbm_rate = sim::BytesPerSecond(1e9);
  p.gpu.memory.hbm_read_efficiency = p.gpu.memory.hbm_write_efficiency = 1.0;
}

// Two tiles share their panel of B, which the Infinity Cache keeps: HBM moves the compulsory bytes at 1 GB/s, 2 B *
// (256 * 1000 + 1000 * 128 + 256 * 128) = 833536 B. Less than a millionth of the re-reads is lost.
TEST(GemmTime, OfAProductThatHbmBoundsIsThatOfItsCompulsoryBytes) {
  PlatformSpec platform = round_platform_with(slow_hbm);
  const GemmOutcome outcome = run_cold(platform, {256, 128, 1000});
  EXPECT_NEAR(outcome.us, dispatch_us + 833.536, 1e-3);
  EXPECT_NEAR(outcome.hbm_bytes, 833'536.0, 1.0);
  // Each of two tiles takes tile_us to multiply. If loads do not hide behind the products, times add up as powers.
  platform.gpu.gemm.library.knee = 1.0;
  EXPECT_NEAR(run_cold(platform, {256, 128, 1000}).us, dispatch_us + tile_us + 833.536, 0.1);
  platform.gpu.gemm.library.knee = 2.0;
  EXPECT_NEAR(run_cold(platform, {256, 128, 1000}).us, dispatch_us + std::hypot(tile_us, 833.536), 0.1);
}

// A product repeated in a loop finds A and B in the cache and overwrites the result of the round before.
TEST(GemmTime, OfAProductInALoopIsThatOfWhatTheInfinityCacheDoesNotHold) {
  PlatformSpec platform = round_platform_with(slow_hbm);
  const GemmOutcome outcome = run_on_gpu0(platform, {256, 128, 1000});
  EXPECT_NEAR(outcome.hbm_bytes, 0.0, 1.0);
  EXPECT_NEAR(outcome.us, dispatch_us + tile_us, 0.1) << "its pipes bound it";
  platform.gpu.memory.cache_capacity = sim::Bytes(8e5);
  EXPECT_NEAR(run_on_gpu0(platform, {256, 128, 1000}).hbm_bytes, run_cold(platform, {256, 128, 1000}).hbm_bytes, 1.0)
      << "of a set that does not fit the oldest line goes first, and that is the next one needed";
}

// Eight products of one 128x128 tile each fill eight CUs: they take as long as one, and each reads its own panels.
TEST(Gemm, OfSeveralProductsFillsTheGpuWithAllOfThem) {
  const GemmOutcome one = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000});
  const GemmOutcome eight = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000, .products = 8});
  const GemmOutcome sixteen = run_on_gpu0(round_platform(), {.m = 128, .n = 128, .k = 1000, .products = 16});
  EXPECT_NEAR(eight.us, one.us, 0.05 * one.us);
  EXPECT_NEAR(sixteen.us, 2.0 * eight.us, 0.05 * eight.us);
  EXPECT_NEAR(eight.beyond_l2_bytes, 8.0 * one.beyond_l2_bytes, 1.0);
}

// Each of eight CUs takes an eighth of the contraction of one tile. The library's start-up recurs when parts are added
// up.
TEST(SplitK, LetsAllCusWorkOnOneTile) {
  const auto with_start_up = [](const PlatformChange& change) {
    return [change](PlatformSpec& p) {
      change(p);
      p.gpu.gemm.library.start_up = 7_us;
    };
  };
  const GemmShape tile{128, 128, 1024};
  expect_time("one CU has all", nothing, tile, dispatch_us + 1.024 * tile_us);
  expect_time("each has an eighth", split_by_eight, tile, dispatch_us + 1.024 * tile_us / 8.0);
  expect_time("it starts once", with_start_up(nothing), tile, 7.0 + dispatch_us + 1.024 * tile_us);
  expect_time("it starts twice", with_start_up(split_by_eight), tile, 14.0 + dispatch_us + 1.024 * tile_us / 8.0);
}

// Each XCD has one of two tiles. Panels are requested once, whoever reads them. One workgroup writes a result at 2 B an
// element; each of four workgroups reads and writes it at 4 B.
TEST(SplitK, PaysForPartialSums) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {256, 128, 1000}).l2_bytes, 2.0 * (panel_bytes + tile_bytes), 1.0);
  const PlatformSpec by_four =
      round_platform_with([](PlatformSpec& p) { p.gpu.gemm.library.kernels.front().split_k = 4; });
  EXPECT_NEAR(run_on_gpu0(by_four, {256, 128, 1000}).l2_bytes, 2.0 * (panel_bytes + 4.0 * 2.0 * 2.0 * tile_bytes), 1.0);
}

// Two workgroups that split a contraction share no panel, while two tiles of a row share that of A: (2 + 1) * 128
// against 2 * 2 * 128 elements of each column of k.
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

// Nine tiles on eight CUs take two waves under every schedule.
TEST(GemmSchedule, CountsWholeWaves) {
  for (const Dealing schedule : {Dealing::per_xcd, Dealing::resident, Dealing::stealing}) {
    const PlatformChange change = [schedule](PlatformSpec& p) { p.gpu.gemm.library.schedule = schedule; };
    const double launches = schedule == Dealing::per_xcd ? 2.0 : 1.0;
    expect_time("two waves", change, {9 * 128, 128, 1000}, launches * dispatch_us + 2.0 * tile_us);
  }
}

// Eight tiles stay whole, and eight parts share the ninth: each has an eighth of its steps and twice the overhead, a
// quarter of a tile, because parts are added up. If that exceeds a tile's time, nothing is shared.
TEST(SharedLastWave, IsCutIntoEvenParts) {
  // The overhead is in cycles per element: 16384 for a tile of 65536 cycles.
  const auto with_overhead = [](double cycles) {
    return [cycles](PlatformSpec& p) {
      p.gpu.gemm.library.schedule = Dealing::resident;
      p.gpu.gemm.library.shares_last = true;
      p.gpu.gemm.library.tile_overhead = cycles;
    };
  };
  const GemmShape nine{9 * 128, 128, 1000};
  expect_time("an eighth is left", with_overhead(0.0), nine, dispatch_us + (1.0 + 1.0 / 8.0) * tile_us);
  expect_time("whole waves", with_overhead(0.0), {16 * 128, 128, 1000}, dispatch_us + 2.0 * tile_us);
  expect_time("less than a wave", with_overhead(0.0), {128, 128, 1000}, dispatch_us + tile_us / 8.0);
  expect_time("parts cost", with_overhead(1.0), nine, dispatch_us + (1.25 + 0.125 + 0.5) * tile_us);
  expect_time("nothing is shared", with_overhead(4.0), nine, dispatch_us + 4.0 * tile_us);
}

// All or half of the operands fit into the cache, and steps that miss it take 1.5 times as long.
TEST(ColdOperands, LengthenTheStepsThatMissTheCache) {
  const auto with_cache = [](double share) {
    return [share](PlatformSpec& p) {
      p.gpu.gemm.library.cold_operands = 0.5;
      p.gpu.memory.cache_capacity = sim::Bytes(share * 2.0 * 1000.0 * (1024.0 + 128.0));
    };
  };
  expect_time("all fit", with_cache(1.0), {1024, 128, 1000}, dispatch_us + tile_us);
  expect_time("half fits", with_cache(0.5), {1024, 128, 1000}, dispatch_us + 1.25 * tile_us);
}

// The profile gives a quarter of the matrix rate instead of half, and the measured bytes at every level.
TEST(ProfiledGemm, TakesItsTimeAndBytesFromTheProfile) {
  const GemmShape shape{1024, 128, 1000};
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  platform.gpu.gemm.profiles.push_back({shape, 0.25, sim::Bytes(8e6), sim::Bytes(5e6), sim::Bytes(3e6)});
  const GemmOutcome outcome = run_on_gpu0(platform, shape);
  EXPECT_NEAR(outcome.us, dispatch_us + 2.0 * tile_us, 1e-5);
  EXPECT_NEAR(outcome.l2_bytes, 8e6, 1.0);
  EXPECT_NEAR(outcome.beyond_l2_bytes, 5e6, 1.0);
  EXPECT_NEAR(outcome.hbm_bytes, 3e6, 1.0);
  EXPECT_NEAR(run_on_gpu0(platform, {1024, 128, 1008}).us, dispatch_us + 1.008 * tile_us, 1e-5)
      << "another shape has no profile";
}

// When it has half of the Infinity Cache, the profile loses in proportion to what the estimate loses.
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

TEST(GemmConservation, EveryTileMovesItsPanelsAndItsResultThroughTheL2) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 128, 1000}).l2_bytes, 8.0 * (panel_bytes + tile_bytes), 1.0);
  EXPECT_NEAR(run_on_gpu0(round_platform(), {1024, 256, 1000}).l2_bytes, 16.0 * (panel_bytes + tile_bytes), 1.0);
}

// An XCD has four tiles as 2 x 2: each panel is read once for two tiles.
TEST(GemmCaches, TilesOfAnXcdShareTheirPanels) {
  EXPECT_NEAR(run_on_gpu0(round_platform(), {256, 512, 1000}).beyond_l2_bytes, 4.0 * panel_bytes + 8.0 * tile_bytes,
              1.0);
}

// Each CU has two workgroups, one mid-tile when the other begins. Of the eight tiles of an XCD, each four share the
// column's panel of B and read four panels of A: 5 * 128 rows and columns.
TEST(GemmCaches, WorkgroupsOfACuShareNoPanel) {
  EXPECT_NEAR(run_on_gpu0(round_platform_with(two_workgroups_a_cu), {2048, 128, 1000}).beyond_l2_bytes,
              2.0 * 2.0 * 5.0 / 2.0 * panel_bytes + 16.0 * tile_bytes, 100.0);
}

// An endless stream through the L2s leaves the GEMM no share of them: every tile reads its panels itself.
void flood_caches(Node& node) {
  const sim::BytesPerSecond flood(1e30);
  node.gpu(0).cache_sharing().enter({flood, flood, nullptr});
}

TEST(GemmCaches, AStreamThatTakesTheL2sEndsTheSharing) {
  const GemmOutcome outcome = run_on_gpu0(round_platform(), {256, 512, 1000}, {}, flood_caches);
  EXPECT_NEAR(outcome.beyond_l2_bytes, 8.0 * (panel_bytes + tile_bytes), 1.0);
  EXPECT_NEAR(outcome.us, dispatch_us + tile_us, 1e-5) << "bound by matrix pipes all the same";
}

// A stream that arrives half-way costs half as much as one from the start: 2 instead of 4 panels are saved.
TEST(GemmCaches, AStreamThatArrivesMidWayCountsFromThen) {
  const GemmOutcome outcome = run_on_gpu0(round_platform(), {256, 512, 1000}, {}, [](Node& node) {
    const sim::Time half_way = sim::to_time(sim::Seconds((dispatch_us + tile_us / 2.0) * 1e-6));
    node.simulator().schedule(half_way, [&node] { flood_caches(node); });
  });
  EXPECT_NEAR(outcome.beyond_l2_bytes, 6.0 * panel_bytes + 8.0 * tile_bytes, 100.0);
}

// The round machine does 16 TFLOP/s at its highest clock. Four tiles of 128x128 on an XCD read 2 B * 512 * k for
// 4 * 2 * 128 * 128 * k flops, 128 flops a byte for large k; at 1000 GB/s of HBM the machine has 16 per byte, at 100 it
// has 160.
TEST(GemmMemoryBound, IsWhatDoesFewerFlopsPerByteThanTheMachine) {
  for (const auto& [hbm_rate, bound] : {std::pair{1000e9, false}, {100e9, true}}) {
    PlatformSpec platform = round_platform();
    platform.gpu.memory.hbm_rate = sim::BytesPerSecond(hbm_rate);
    LoneNode node(platform);
    EXPECT_EQ(is_memory_bound(plan_gemm(platform.gpu, {8192, 8192, 65536}), node.gpu(0)), bound) << hbm_rate;
  }
}

constexpr std::string_view columns_of_kernels = "m,n,k,tile_m,tile_n,depth,threads,lds_bytes,split\n";

TEST(GemmKernelTable, SaysWhatIsImpossible) {
  const std::vector<std::pair<std::string, std::string>> rows_and_faults{
      {"8,8,8,256,256,64,256,65536,1\n", ""},
      {"8,8,8,256,256,64,256,65537,1\n", "lds_bytes: '65537'"},
      {"8,8,8,256,256,64,1024,1,1\n8,8,8,256,256,64,1024,65537,1\n",
       "kernels.csv:3:23: lds_bytes: '65537' must lie between 0 and 65536"},
      {"8,8,8,0,256,64,256,1,1\n", "tile_m: '0'"},
      {"0,8,8,16,256,64,256,1,1\n", "m: '0'"},
      {"8,8,8,256,256,64,2048,1,1\n", "threads: '2048'"},
      {"", "at least one kernel"}};
  for (const auto& [rows, expected] : rows_and_faults) {
    const std::string faults = config_fault([&rows = rows] {
      GemmKernelTable(std::string(columns_of_kernels) + rows, "kernels.csv").on({65536, 524288, 16});
    });
    EXPECT_THAT(faults, HasSubstr(expected)) << rows;
    EXPECT_EQ(faults.empty(), expected.empty()) << rows;
  }
}

// Each of 256 lanes has 256 accumulators and 64 registers each for operands and addresses: 384 of a CU's 512 KiB.
TEST(GemmKernelTable, RegistersFollowFromTheTile) {
  const GemmKernelTable table(std::string(columns_of_kernels) + "8,8,8,256,256,64,256,33792,1\n", "kernels.csv");
  const GemmKernelSpec kernel = table.on({65536, 524288, 32}).front();
  EXPECT_EQ(kernel.workgroup.registers, 384 * 1024);
  EXPECT_EQ(kernel.workgroup.waves, 4);
  EXPECT_EQ(workgroups_that_fit({65536, 524288, 32}, kernel.workgroup), 1);
}

// These tests check what GEMMs move beyond the L2s and from HBM, given the resident tiles and what the caches hold.

constexpr double operand_bytes = GemmShape::element_bytes;
constexpr double written_bytes = 32'768.0;  // the result of a tile of 128 x 128

// The window of R tiles kept in a square is 2 B * 2 sqrt(R) * 128 * drift. While it fits into 4 MiB, a larger square
// shares more; at several times that, re-reads come too late, and fewer competing tiles share better.
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

// Four tiles of an XCD as 2 x 2 request 8 panels, of which 4 differ. Their window, 2 B * 4 * 128 * drift, is four times
// the capacity of an L2, so one of the 4 re-reads finds its line.
TEST(GemmTraffic, ReReadsFindTheShareOfTheirWindowThatTheL2Holds) {
  GemmSpec spec = round_gemm();
  spec.library.l2_drift = 1000;
  MemorySpec memory = round_memory();
  memory.l2_capacity = sim::Bytes(operand_bytes * 4.0 * 128.0 * 1000.0 / 4.0);
  const GemmPlan plan = plan_with(spec, {65536, 65536, 10'000});
  const std::vector<int> residents{4, 4};
  const double panel = operand_bytes * 128.0 * 10'000.0;
  EXPECT_NEAR(estimate_traffic(plan, memory, {residents}).beyond_l2.reads * plan.piece_flops(), 7.0 / 4.0 * panel, 1.0);
}

// Four tiles of an XCD request 4 panels as 2 x 2 and 5 as a row or a column; each panel is read once beyond the L2. Two
// tiles do not fill a column of four.
TEST(GemmTraffic, FollowsTheRowsThatWorkgroupsGoDownBeforeTheNextColumn) {
  const auto panels = [](int grouped_rows, int tiles) {
    GemmSpec spec = round_gemm();
    spec.library.grouped_rows = grouped_rows;
    spec.library.l2_drift = 1;
    const GemmPlan plan = plan_with(spec, {65536, 65536, 10'000});
    const std::vector<int> residents{tiles, tiles};
    const double reads = estimate_traffic(plan, round_memory(), {residents}).beyond_l2.reads * plan.piece_flops();
    return reads * tiles / (operand_bytes * 128.0 * 10'000.0);
  };
  EXPECT_NEAR(panels(0, 4), 4.0, 1e-6);
  EXPECT_NEAR(panels(2, 4), 4.0, 1e-6);
  EXPECT_NEAR(panels(1, 4), 5.0, 1e-6);
  EXPECT_NEAR(panels(4, 4), 5.0, 1e-6);
  EXPECT_NEAR(panels(4, 2), 3.0, 1e-6);
}

// 4 x 4 tiles run in two waves of eight, each of which touches a square of 128 * 2 sqrt(8) = 724 rows and columns; the
// operands have 1024. If 2 B * 1024 * k fit into the Infinity Cache, HBM reads each panel once. Otherwise HBM reads
// what each wave touches, except for the share of the operands still cached. k = 1e6 makes the operands 2 GB, 30 times
// the cache of 64 MiB.
TEST(GemmTraffic, ALaterWaveFindsPanelsOfEarlierOnesOnlyWhereTheOperandsFit) {
  const GemmPlan plan = plan_with(round_gemm(), {512, 512, 1'000'000});
  const std::vector<int> residents{4, 4};
  const auto hbm_reads = [&](MemorySpec memory) {
    const GemmTraffic traffic = estimate_traffic(plan, memory, {residents});
    return 16.0 * (traffic.hbm_bytes() * plan.piece_flops() - written_bytes);
  };
  MemorySpec large = round_memory();
  large.cache_capacity = sim::Bytes(1e14);
  EXPECT_NEAR(hbm_reads(large), operand_bytes * 1024.0 * 1e6, 1e3);
  const double touched = 2.0 * operand_bytes * 256.0 * std::sqrt(8.0) * 1e6;
  const double operands = operand_bytes * 1024.0 * 1e6;
  const double found = round_memory().cache_capacity.value() / operands;  // the share of what an earlier wave touched
  EXPECT_NEAR(hbm_reads(round_memory()), touched - found * (touched - operands), 1e4);
}

struct RandomGemm {
  GemmSpec spec = round_gemm();
  GemmPlan plan;
  MemorySpec memory = round_memory();
  std::vector<int> residents;
  double per_cu = 1.0;
};

// Returns a shape of at least two tiles, with no more residents than it has tiles.
RandomGemm random_gemm() {
  RandomGemm random;
  GemmKernelSpec& kernel = random.spec.library.kernels.front();
  kernel.tile_m = *rc::gen::element(16, 64, 128, 256);
  kernel.tile_n = *rc::gen::element(16, 64, 128, 256);
  random.spec.library.l2_drift = *rc::gen::inRange(1, 10'000);
  random.spec.library.cache_drift = *rc::gen::inRange(1, 10'000);
  random.spec.library.grouped_rows = *rc::gen::inRange(0, 100);
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

constexpr double last_digits = 1e-9;

RC_GTEST_PROP(GemmTraffic, LiesBetweenTheCompulsoryBytesAndNoReuseAtAll, ()) {
  const RandomGemm g = random_gemm();
  const GemmTraffic traffic = traffic_of(g, random_share(), random_share());
  const double flops = g.plan.piece_flops() * static_cast<double>(g.plan.pieces());
  const GemmShape& shape = g.plan.shape;
  const double operands = operand_bytes * static_cast<double>(shape.k) * static_cast<double>(shape.m + shape.n);
  const double no_reuse = traffic.l2 - traffic.beyond_l2.writes;
  RC_ASSERT(traffic.beyond_l2.reads * flops >= operands * (1.0 - last_digits));
  RC_ASSERT(traffic.beyond_l2.reads <= no_reuse * (1.0 + last_digits));
  RC_ASSERT(traffic.hbm_bytes() * flops >= shape.compulsory_bytes().value() * (1.0 - last_digits));
  RC_ASSERT(traffic.beyond_l2.cache_hits >= -last_digits && traffic.beyond_l2.cache_hits <= 1.0);
}

RC_GTEST_PROP(GemmTraffic, ASmallerShareOfACacheNeverMeansLessTraffic, ()) {
  const RandomGemm g = random_gemm();
  const double l2 = random_share();
  const double cache = random_share();
  const double factor = random_share();
  const GemmTraffic held = traffic_of(g, l2, cache);
  const GemmTraffic less_l2 = traffic_of(g, factor * l2, cache);
  const GemmTraffic less_cache = traffic_of(g, l2, factor * cache);
  RC_ASSERT(less_l2.beyond_l2.reads >= held.beyond_l2.reads * (1.0 - last_digits));
  RC_ASSERT(less_l2.hbm_bytes() >= held.hbm_bytes() * (1.0 - last_digits));
  RC_ASSERT(less_cache.beyond_l2.reads == held.beyond_l2.reads);
  RC_ASSERT(less_cache.hbm_bytes() >= held.hbm_bytes() * (1.0 - last_digits));
}

// These tests cover the experts of a layer, run by the kernels that serving frameworks have for them.

GemmShape experts_of(std::int64_t rows, Dtype dtype = Dtype::bf16) {
  return {.m = 5632, .n = rows, .k = 3072, .dtype = dtype, .products = 32, .of_experts = true};
}

TEST(Experts, HaveALibraryOfTheirOwnWhereThePlatformNamesOne) {
  const GemmSpec gemm = h200().gpu.gemm;
  GemmShape shape = experts_of(512);
  EXPECT_EQ(gemm.library_of(shape).name, "triton_experts");
  shape.of_experts = false;
  EXPECT_EQ(gemm.library_of(shape).name, "cublas");
  EXPECT_EQ(mi300x().gpu.gemm.library_of(experts_of(512)).name, "hipblaslt");
}

RC_GTEST_PROP(Experts, TakeAsLongAsWithTheirLibraryForAll, ()) {
  static const PlatformSpec ours = h200();
  static const PlatformSpec theirs = h200({"gpu.gemm.library=triton_experts"});
  GemmShape shape = experts_of(*rc::gen::inRange<std::int64_t>(1, 2048));
  const double asked = plan_gemm(ours.gpu, shape).efficiency;
  shape.of_experts = false;
  RC_ASSERT(plan_gemm(theirs.gpu, shape).efficiency == asked);
}

// The losses apply to the loop along k: a product of many rows slows by as much, one of few rows hardly.
TEST(Experts, ReachLessInFp8AndWithWeightsThatAreUnpacked) {
  const GpuSpec gpu = h200().gpu;
  GpuSpec plain = gpu;
  plain.gemm.experts_library->fp8_efficiency = {};
  plain.gemm.experts_library->packed_efficiency = 1.0;
  const auto longer = [&](const GemmShape& shape) {
    return plan_gemm(plain, shape).efficiency / plan_gemm(gpu, shape).efficiency;
  };
  GemmShape packed = experts_of(1024);
  packed.weights = Dtype::mxfp4;
  EXPECT_GT(longer(packed), 1.3);
  EXPECT_GT(longer(experts_of(1024, Dtype::fp8)), 1.15);
  EXPECT_DOUBLE_EQ(longer(experts_of(1024)), 1.0);
}

}  // namespace
}  // namespace c3sim::models
