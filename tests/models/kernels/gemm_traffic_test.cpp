// These tests check what GEMMs move beyond the L2s and from HBM, given the resident tiles and what the caches hold.
#include "models/kernels/gemm_traffic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

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

}  // namespace
}  // namespace c3sim::models
