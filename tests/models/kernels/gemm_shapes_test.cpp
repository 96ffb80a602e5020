// What holds of GEMMs of any shape: their times have no cliffs but those of their library, and keep to the machine's
// peaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "models/kernels/gemm.h"
#include "models/kernels/gemm_plan.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

constexpr int shapes = 700;  // of each library, each with three neighbours

double seconds(const PlatformSpec& platform, const GemmShape& shape) {
  sim::Simulator simulator;
  Node node(simulator, platform, Symmetry::all_alike);
  return sim::to_seconds(time_of(simulator, run_kernel(node, 0, gemm_kernel(node.spec().gpu, shape)))).value();
}

// Pieces that the busiest CU does.
std::int64_t rounds(const PlatformSpec& platform, const GemmPlan& plan) {
  return (plan.pieces() + platform.gpu.cus() - 1) / platform.gpu.cus();
}

bool same_kernel(const GemmPlan& a, const GemmPlan& b) {
  return a.kernel.tile_m == b.kernel.tile_m && a.kernel.tile_n == b.kernel.tile_n && a.kernel.depth == b.kernel.depth &&
         a.kernel.split_k == b.kernel.split_k;
}

class GemmShapes : public testing::TestWithParam<std::string> {
 protected:
  // Each extent spread evenly over its orders of magnitude.
  GemmShape any_shape() {
    const auto extent = [this] { return static_cast<std::int64_t>(std::exp2(16.0 * of_one_(random_))); };
    const std::int64_t m = extent();
    const std::int64_t n = extent();
    return {m, n, extent()};
  }
  PlatformSpec platform_ = mi300x({"gpu.gemm.library=" + GetParam()});

 private:
  std::mt19937 random_{20261122};
  std::uniform_real_distribution<double> of_one_{0.0, 1.0};
};

// One row, one column or one step more is at most a wave more where counting says so, and hardly ever less. Where the
// library takes another kernel, what it loses or gains is the library's.
TEST_P(GemmShapes, HaveNoCliffsButWavesAndKernels) {
  for (int i = 0; i < shapes; ++i) {
    const GemmShape shape = any_shape();
    const GemmPlan plan = plan_gemm(platform_.gpu, shape);
    const double time = seconds(platform_, shape);
    std::array larger{shape, shape, shape};
    ++larger[0].m;
    ++larger[1].n;
    ++larger[2].k;
    for (const GemmShape& one_more : larger) {
      const GemmPlan next = plan_gemm(platform_.gpu, one_more);
      if (!same_kernel(plan, next)) continue;
      const auto before = static_cast<double>(rounds(platform_, plan));
      const auto after = static_cast<double>(rounds(platform_, next));
      const double with_one_more = seconds(platform_, one_more);
      const double step = plan.kernel.depth / plan.piece_k();  // the contraction is taken in whole steps
      const double most = time * (after / before + (one_more.k > shape.k ? step : 0.0));
      ASSERT_LE(with_one_more, std::max(1.01 * most, most + 2e-6)) << to_string(one_more);
      ASSERT_GE(with_one_more, 0.99 * time) << to_string(one_more);
    }
  }
}

TEST_P(GemmShapes, AreNeverFasterThanThePeaks) {
  const GpuSpec& gpu = platform_.gpu;
  const double flops_per_second = gpu.gemm.flops_per_cycle_per_cu * gpu.cus() * gpu.power.highest_clock.value();
  const double bytes_per_second =
      gpu.memory.hbm_rate.value() * std::max(gpu.memory.hbm_read_efficiency, gpu.memory.hbm_write_efficiency);
  for (int i = 0; i < shapes; ++i) {
    const GemmShape shape = any_shape();
    const double time = seconds(platform_, shape);
    ASSERT_GE(time, shape.flops().value() / flops_per_second) << to_string(shape);
    ASSERT_GE(time, shape.compulsory_bytes().value() / bytes_per_second) << to_string(shape);
  }
}

// Where there is work for some tens of microseconds, beyond which launches hardly count. What is farthest above are
// products with short contractions, which the libraries were not tuned for: most of a tile's time goes into its output.
TEST_P(GemmShapes, AreNotFarAboveThePeaksWhereThereIsMuchToDo) {
  const GpuSpec& gpu = platform_.gpu;
  if (!gpu.gemm.library.by_modelled_time) GTEST_SKIP() << "takes what it was tuned for near by, be it slow";
  const double flops_per_second = gpu.gemm.flops_per_cycle_per_cu * gpu.cus() * gpu.power.reference_clock.value();
  for (int i = 0; i < shapes; ++i) {
    const GemmShape shape = any_shape();
    const double least = std::max(shape.flops().value() / flops_per_second,
                                  shape.compulsory_bytes().value() / gpu.memory.hbm_rate.value());
    if (least < 50e-6) continue;
    ASSERT_LE(seconds(platform_, shape), 5.0 * least) << to_string(shape);
  }
}

// Of kernels with tiles of 8, 64 and 256 columns the narrowest that holds all columns is the widest that is taken.
TEST(GemmOfFewColumns, HasNoTileWiderThanItNeeds) {
  PlatformSpec platform = round_platform();
  platform.gpu.gemm.library.by_modelled_time = true;
  GemmKernelSpec kernel = platform.gpu.gemm.library.kernels.front();
  platform.gpu.gemm.library.kernels.clear();
  for (const int columns : {8, 64, 256}) {
    kernel.tile_n = columns;
    platform.gpu.gemm.library.kernels.push_back(kernel);
  }
  for (const auto& [columns, widest] : {std::pair{1, 8}, {8, 8}, {9, 64}, {100, 256}, {10000, 256}}) {
    EXPECT_LE(plan_gemm(platform.gpu, {4096, columns, 4096}).kernel.tile_n, widest) << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, GemmShapes, testing::Values("rocblas", "hipblaslt", "work_stealing", "persistent"));

}  // namespace
}  // namespace c3sim::models
