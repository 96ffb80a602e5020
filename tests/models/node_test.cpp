#include "models/node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/collectives/collective.h"
#include "models/kernels/gemm.h"
#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

constexpr GemmShape one_wave{1024, 128, 1000};  // 65.536 us on the round machine
constexpr double gemm_us = 1.0 + 65.536;        // includes the dispatcher's part of the launch

double gemm_microseconds(const PlatformSpec& platform, GemmShape shape, CuMask mask = {}) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_gemm(node, shape, {mask})));
}

double rccl_microseconds(const PlatformSpec& platform, const CollectiveSpec& spec, CuMask mask = {}) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_kernel_collective(node, spec, {mask})));
}

// All GPUs at once take 4 us to launch, the kernel and 2 us to notice its end: one process per GPU launches its
// kernels, however many threads drive the copy engines.
TEST(Node, AGemmOnEveryGpuTakesTheTimeOfOne) {
  for (const HostThreads threads : {HostThreads::per_gpu, HostThreads::one}) {
    PlatformSpec platform = round_platform();
    platform.host.threads = threads;
    EXPECT_NEAR(gemm_microseconds(platform, one_wave), 4.0 + gemm_us + 2.0, 1e-5);
  }
}

double concurrent_microseconds(const PlatformSpec& platform, const CollectiveSpec& spec, Symmetry symmetry) {
  LoneNode node(platform, symmetry);
  CollectiveRun collective(node, spec, {});
  const std::vector<sim::Time> ends =
      ends_together(node.simulator(), run_gemm(node, {8192, 8192, 8192}, {}), collective.run());
  return sim::to_microseconds(std::max(ends[0], ends[1]));
}

// By symmetry the fair allocation gives all GPUs the same rates, so the quotient has the same solution.
TEST(Mi300x, OneGpuThatStandsForAllTakesTheTimeOfAll) {
  PlatformSpec platform = mi300x();
  platform.host.threads = HostThreads::per_gpu;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    for (const Backend backend : {Backend::rccl, Backend::sdma}) {
      const CollectiveSpec spec = collective(kind, backend, sim::Bytes(256.0 * 1048576.0));
      const double all = concurrent_microseconds(platform, spec, Symmetry::none);
      EXPECT_NEAR(concurrent_microseconds(platform, spec, Symmetry::all_alike), all, 2e-3 * all)
          << to_string(kind) << " by " << to_string(backend);
    }
  }
}

TEST(Node, EveryGpuDoesTheSameWork) {
  LoneNode node(round_platform());
  time_of(node, run_gemm(node, one_wave, {}));
  const auto l2 = [&node](int gpu) { return node.network().served(node.gpu(gpu).memory().l2()); };
  for (int gpu = 0; gpu < node.gpus(); ++gpu) EXPECT_EQ(l2(gpu), l2(0));
  EXPECT_GT(l2(0), 0.0);
}

TEST(Node, TheSameRunTakesTheSameTimeToThePicosecond) {
  LoneNode first(mi300x());
  LoneNode second(mi300x());  // both nodes live at the same time in one process
  const GemmShape shape{8192, 8192, 1024};
  EXPECT_EQ(time_of(first, run_gemm(first, shape, {})), time_of(second, run_gemm(second, shape, {})));
}

// gemm_mi300x.csv gives 708 TFLOP/s of bf16 at 750 W. The Infinity Cache keeps none of the 590 MB of operands, and
// loads do not hide entirely: the result is 4.5 % lower.
TEST(Mi300x, ReachesTheMaxAchievableRateOfMatrixProducts) {
  const GemmShape shape{4096, 4864, 32896};
  const double tflops = shape.flops().value() / gemm_microseconds(mi300x(), shape) / 1e6;
  EXPECT_NEAR(tflops, 708.0, 0.05 * 708.0);
}

double all_reduce_us(double bytes, bool graph) {
  CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::rccl, sim::Bytes(bytes));
  spec.graph = graph;
  return rccl_microseconds(mi300x(), spec);
}

// Rows below 1 KiB are left out: from 128 to 512 B the published run has a plateau that is slower than the sizes below
// and above.
TEST(Mi300x, FullAllReduceTakesTheMeasuredTime) {
  const auto rows = reference_numbers("rccl_allreduce_8xmi300x_amdblog.csv");
  ASSERT_EQ(rows.size(), 32u);
  for (const auto& row : rows) {
    if (row[0] < 1024) continue;
    const double tolerance = row[0] >= 1048576 ? 0.1 : 0.21;
    EXPECT_NEAR(all_reduce_us(row[0], false) / row[1], 1.0, tolerance) << row[0] << " B, " << row[1] << " us";
  }
}

TEST(Mi300x, FullAllReduceFromAGraphTakesTheMeasuredTime) {
  const auto rows = reference_numbers("rccl_allreduce_8xmi300x_amdblog_graph.csv");
  ASSERT_EQ(rows.size(), 32u);
  for (const auto& row : rows) {
    if (row[0] < 1024 || (row[0] >= 2097152 && row[0] <= 4194304)) continue;
    const double tolerance = row[0] > 1048576 ? 0.1 : 0.2;
    EXPECT_NEAR(all_reduce_us(row[0], true) / row[1], 1.0, tolerance) << row[0] << " B, " << row[1] << " us";
  }
}

// A known gap: from 2 MiB on the measured run launches operations back to back and the kernel before hides a launch,
// with a graph or without, so both measure alike. The model waits for each launch, so a graph saves 5 us, of 35 and 52
// us, at every size. Closing the gap fails this test.
TEST(Mi300x, AGraphStillSavesALaunchThatStreamsOfOperationsHide) {
  const auto plain = reference_numbers("rccl_allreduce_8xmi300x_amdblog.csv");
  const auto graph = reference_numbers("rccl_allreduce_8xmi300x_amdblog_graph.csv");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph[i][0] != 2097152 && graph[i][0] != 4194304) continue;
    EXPECT_NEAR(graph[i][1] / plain[i][1], 1.0, 0.01);
    EXPECT_LT(all_reduce_us(graph[i][0], true), 0.92 * graph[i][1]);
  }
}

// babelstream_mi300x.csv gives 4.26 TB/s for copy and 3.88 to 3.93 TB/s for dot, which only reads.
TEST(Mi300x, MemoryStreamsAtTheMeasuredRates) {
  LoneNode node(mi300x());
  const Memory& memory = node.gpu(0).memory();
  UsageList copy;
  memory.add_from_xcds(copy, memory.evenly_spread(), 1.0, {0.5, 0.5, 0.0});
  EXPECT_NEAR(rate_alone(node.network(), std::move(copy)), 4.26e12, 0.15 * 4.26e12);
  UsageList dot;
  memory.add_from_xcds(dot, memory.evenly_spread(), 1.0, {1.0, 0.0, 0.0});
  EXPECT_NEAR(rate_alone(node.network(), std::move(dot)), 3.9e12, 0.15 * 3.9e12);
}

// Returns the GEMM's time if the CUs that its last wave leaves idle did their part.
double without_idle_cus(const PlatformSpec& platform, const GemmShape& shape, double us) {
  const GemmPlan plan = plan_gemm(platform.gpu, shape);
  const double waves =
      static_cast<double>(plan.pieces()) / platform.gpu.slots(platform.gpu.cus(), plan.kernel.workgroup);
  return us * waves / std::ceil(waves);
}

// A concurrent GEMM and all-gather take at least the longer of the two and at most their sum. An all-gather delays
// workgroups out of their waves, so the GEMM may gain the idle part of its last wave.
TEST(Mi300x, ConcurrentComputeAndCommunicationLiesBetweenMaximumAndSum) {
  const PlatformSpec platform = mi300x();
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192}, {8192, 57344, 8192}}) {
    const double gemm = gemm_microseconds(platform, shape);
    for (const double bytes : {64.0 * 1048576, 896.0 * 1048576}) {
      CollectiveSpec spec;
      spec.bytes = sim::Bytes(bytes);
      const double collective = rccl_microseconds(platform, spec);
      LoneNode node(platform);
      const std::vector<sim::Time> ends =
          ends_together(node.simulator(), run_gemm(node, shape, {}), run_kernel_collective(node, spec, {}));
      const double both = sim::to_microseconds(std::max(ends[0], ends[1]));
      EXPECT_GE(both, std::max(without_idle_cus(platform, shape, gemm), collective))
          << to_string(shape) << " " << bytes;
      EXPECT_LE(both, gemm + collective) << to_string(shape) << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace c3sim::models
