#include "models/kernels/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

double microseconds(const PlatformSpec& platform, const ElementwiseSpec& spec, CuMask mask = {}) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  return sim::to_microseconds(time_of(simulator, run_elementwise(node, spec, {mask})));
}

PlatformSpec with_vectors() {
  PlatformSpec platform = round_platform();
  platform.gpu.vector_flops_per_cycle_per_cu = 100.0;
  return platform;
}

// HBM gives 800 GB/s to reads and 500 GB/s to writes: 1250 + 2000 us. A byte takes no time beside what surrounds the
// kernel, and in parts of arrays each place is worked out, however few elements there are.
TEST(Elementwise, IsBoundByTheBandwidthOfHbmOrByItsLaunchAndThePlacesOfPartsOfArrays) {
  PlatformSpec platform = round_platform();
  platform.gpu.streams.indexing = sim::to_time(sim::Seconds(3e-6));
  ElementwiseSpec byte{sim::Bytes(1.0), sim::Bytes(0.0), {}};
  EXPECT_NEAR(microseconds(platform, {sim::Bytes(1e9), sim::Bytes(1e9), {}}), 3250.0 + around_us, 1e-3);
  EXPECT_NEAR(microseconds(platform, byte), around_us, 1e-3);
  byte.strided = true;
  EXPECT_NEAR(microseconds(platform, byte), 3.0 + around_us, 1e-3);
}

// All CUs do 100 operations a cycle of 2 GHz: 1e12 of them take so long, however few bytes there are, and twice as long
// on half of the CUs.
TEST(Elementwise, IsBoundByItsVectorOperations) {
  const PlatformSpec platform = with_vectors();
  const ElementwiseSpec spec{sim::Bytes(1e6), sim::Bytes(0.0), sim::Flops(1e12)};
  const double all = 1e12 / (platform.gpu.cus() * 100.0 * 2e9) * 1e6;
  EXPECT_NEAR(microseconds(platform, spec), all + around_us, 1e-3 * all);
  EXPECT_NEAR(microseconds(platform, spec, {0, platform.gpu.cus_per_xcd / 2}), 2.0 * all + around_us, 2e-3 * all);
}

// Half the arithmetic there is in the peak, and its time and that of the memory add up as squares: 2 ms and 1.25 ms.
TEST(Elementwise, BendsWhereLoadsDoNotHideBehindArithmetic) {
  PlatformSpec platform = with_vectors();
  platform.gpu.streams.efficiency = 0.5;
  platform.gpu.streams.knee = 2.0;
  const double flops = 2e-3 * platform.gpu.cus() * 0.5 * 100.0 * 2e9;
  const ElementwiseSpec spec{sim::Bytes(1e9), sim::Bytes(0.0), sim::Flops(flops)};
  EXPECT_NEAR(microseconds(platform, spec), std::hypot(2000.0, 1250.0) + around_us, 5.0);
}

PlatformSpec with_latency() {
  PlatformSpec platform = round_platform();
  platform.gpu.streams.in_flight = sim::Bytes(1e4);
  platform.gpu.streams.latency = sim::to_time(sim::Seconds(1e-6));
  return platform;
}

// Half a CU has 5000 bytes under way for 1 us: 5 GB/s; the memory has no latency and far more bandwidth. On 8 CUs there
// is room for 16, and 32 run in two rounds.
TEST(Elementwise, IsBoundByWhatFewWorkgroupsHaveUnderWay) {
  const auto alone_us = [](int workgroups) {
    return microseconds(with_latency(), {sim::Bytes(1e6), sim::Bytes(1e6), {}, workgroups}) - around_us;
  };
  EXPECT_NEAR(alone_us(1), 400.0, 1e-2);
  EXPECT_NEAR(alone_us(4), 100.0, 1e-2);
  EXPECT_NEAR(alone_us(16), 25.0, 1e-2);
  EXPECT_NEAR(alone_us(32), 25.0, 1.1) << "and a dispatch more";
}

// A row of 2048 elements takes two times 3 us from its first to its last, one of 256 no less than one of 512; of a CU
// 2500 bytes are under way for every 1024 elements, so that 5e6 bytes on each are 1000 rounds of rows of 2048. A CU
// holds one short row at a time, of which an element is two bytes read and two written.
TEST(Elementwise, ThatReducesRowsTakesAsLongAsTheyAre) {
  PlatformSpec platform = round_platform();
  platform.gpu.streams.reduction = sim::to_time(sim::Seconds(3e-6));
  platform.gpu.streams.rows = sim::Bytes(2500.0);
  platform.gpu.streams.least_row = 0.5;
  platform.gpu.streams.row_workgroups = 1;
  const auto of_rows_us = [&platform](double bytes, std::int64_t row) {
    ElementwiseSpec spec{sim::Bytes(bytes), {}, {}};
    spec.reduces = true;
    spec.row = row;
    return microseconds(platform, spec) - around_us;
  };
  EXPECT_NEAR(of_rows_us(4096.0, 2048), 6.0, 1e-2);
  EXPECT_NEAR(of_rows_us(4096.0, 256), 1.5, 1e-2);
  EXPECT_NEAR(of_rows_us(2048.0, 1 << 20), 6.0, 1e-2) << "no longer than the array";
  EXPECT_NEAR(of_rows_us(platform.gpu.cus() * 5e6, 2048), 6000.0, 1.0);
  EXPECT_NEAR(of_rows_us(platform.gpu.cus() * 5e6, 256), 5e6 / 1024.0 * 1.5, 2.0) << "a row of 1024 bytes at a time";
}

// A full memory serves two streams as they have bytes under way: of 800 GB/s, one on 2 of 8 CUs has a quarter and one
// on the others three. So the smaller one reads 2e8 bytes in 1000 us, while the other reads 6e8.
TEST(Elementwise, HasOfAFullMemoryWhatItHasUnderWay) {
  sim::Simulator simulator;
  const PlatformSpec platform = round_platform();
  Node node(simulator, platform);
  std::vector<sim::Time> ends(2);
  simulator.spawn("small", note_end(simulator, run_elementwise(node, {sim::Bytes(2e8), {}, {}}, {{0, 1}}), ends[0]));
  simulator.spawn("large", note_end(simulator, run_elementwise(node, {sim::Bytes(6e8), {}, {}}, {{1, 4}}), ends[1]));
  simulator.run();
  // Launched 4 us before the other, the small one reads alone for as long, four times as fast as beside it: 12 us less.
  EXPECT_NEAR(sim::to_microseconds(ends[0]), 1000.0 + around_us - 12.0, 0.1);
  EXPECT_NEAR(sim::to_microseconds(ends[1]), 1000.0 + around_us, 0.1);
}

// Every byte that is asked for passes HBM once, at what reading and writing cost it.
RC_GTEST_PROP(Elementwise, MovesItsBytesOnce, ()) {
  const double read = *rc::gen::inRange(1, 100'000'000);
  const double written = *rc::gen::inRange(0, 100'000'000);
  sim::Simulator simulator;
  const PlatformSpec platform = round_platform();
  Node node(simulator, platform);
  time_of(simulator, run_elementwise(node, {sim::Bytes(read), sim::Bytes(written), {}}, {}));
  const MemorySpec& memory = platform.gpu.memory;
  const double through_hbm = read / memory.hbm_read_efficiency + written / memory.hbm_write_efficiency;
  RC_ASSERT(std::abs(node.network().served(node.gpu(0).memory().hbm()) / through_hbm - 1.0) < 1e-6);
}

TEST(Elementwise, SaysWhyItIsImpossible) {
  EXPECT_THAT(why_impossible(ElementwiseSpec{sim::Bytes(1.0), {}, {}}, round_platform().gpu), IsEmpty());
  EXPECT_THAT(why_impossible(ElementwiseSpec{}, round_platform().gpu), HasSubstr("at least 1 byte"));
  const ElementwiseSpec adds{sim::Bytes(1.0), {}, sim::Flops(1.0)};
  EXPECT_THAT(why_impossible(adds, round_platform().gpu), HasSubstr("gpu.vector_flops_per_cycle_per_cu"));
  EXPECT_THAT(why_impossible(adds, with_vectors().gpu), IsEmpty());
}

}  // namespace
}  // namespace c3sim::models
