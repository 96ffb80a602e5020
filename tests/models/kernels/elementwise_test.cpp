#include "models/kernels/elementwise.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

double microseconds(const PlatformSpec& platform, const ElementwiseSpec& spec, CuMask mask = {}) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_elementwise(node, spec, {mask})));
}

PlatformSpec with_vectors() {
  PlatformSpec platform = round_platform();
  platform.gpu.vector_flops_per_cycle_per_cu = 100.0;
  return platform;
}

// HBM serves reads at 800 GB/s and writes at 500 GB/s: 1250 + 2000 us. One byte takes only the time around the kernel.
// Strided parts of arrays need each address computed, however few elements there are.
TEST(Elementwise, IsBoundByTheBandwidthOfHbmOrByItsLaunchAndThePlacesOfPartsOfArrays) {
  PlatformSpec platform = round_platform();
  platform.gpu.streams.indexing = sim::to_time(sim::Seconds(3e-6));
  ElementwiseSpec byte{sim::Bytes(1.0), sim::Bytes(0.0), {}};
  EXPECT_NEAR(microseconds(platform, {sim::Bytes(1e9), sim::Bytes(1e9), {}}), 3250.0 + around_us, 1e-3);
  EXPECT_NEAR(microseconds(platform, byte), around_us, 1e-3);
  byte.strided = true;
  EXPECT_NEAR(microseconds(platform, byte), 3.0 + around_us, 1e-3);
}

// All CUs do 100 operations a cycle at 2 GHz, which bounds 1e12 operations with few bytes. Half of the CUs take twice
// as long. Where the platform knows that elements of an operator take 3 cycles of a lane, these are 6 operations each.
TEST(Elementwise, IsBoundByItsVectorOperations) {
  PlatformSpec platform = with_vectors();
  const ElementwiseSpec spec{sim::Bytes(1e6), sim::Bytes(0.0), sim::Flops(1e12)};
  const double all = 1e12 / (platform.gpu.cus() * 100.0 * 2e9) * 1e6;
  EXPECT_NEAR(microseconds(platform, spec), all + around_us, 1e-3 * all);
  EXPECT_NEAR(microseconds(platform, spec, {0, platform.gpu.cus_per_xcd / 2}), 2.0 * all + around_us, 2e-3 * all);
  platform.gpu.operator_cycles["copy"] = 3.0;
  ElementwiseSpec copy{sim::Bytes(1e6), sim::Bytes(0.0), {}};
  copy.operation = "copy";
  copy.elements = 1e12 / 6.0;
  EXPECT_NEAR(microseconds(platform, copy), all + around_us, 1e-3 * all);
}

// The arithmetic reaches half of its peak, and its 2 ms and the 1.25 ms of the memory add up as squares.
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

// Half a CU has 5000 bytes in flight for 1 us: 5 GB/s; the memory has no latency and far more bandwidth. 8 CUs hold 16
// workgroups, and 32 run in two rounds.
TEST(Elementwise, IsBoundByWhatFewWorkgroupsHaveUnderWay) {
  const auto alone_us = [](int workgroups) {
    return microseconds(with_latency(), {sim::Bytes(1e6), sim::Bytes(1e6), {}, workgroups}) - around_us;
  };
  EXPECT_NEAR(alone_us(1), 400.0, 1e-2);
  EXPECT_NEAR(alone_us(4), 100.0, 1e-2);
  EXPECT_NEAR(alone_us(16), 25.0, 1e-2);
  EXPECT_NEAR(alone_us(32), 25.0, 1.1) << "and a dispatch more";
}

// A row of 2048 elements takes 2 * 3 us from first to last; a row of 256 takes as long as one of 512. A CU has 2500
// bytes in flight per 1024 elements, so 5e6 bytes on each CU are 1000 rounds of rows of 2048. A CU holds one short row
// at a time; an element is two bytes read and two written.
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

// A full memory serves streams in proportion to their bytes in flight: of 800 GB/s, a stream on 2 of 8 CUs gets a
// quarter and one on the others three quarters. The smaller reads 2e8 bytes in 1000 us, the larger 6e8.
TEST(Elementwise, HasOfAFullMemoryWhatItHasUnderWay) {
  LoneNode node(round_platform());
  const std::vector<sim::Time> ends =
      ends_together(node.simulator(), run_elementwise(node, {sim::Bytes(2e8), {}, {}}, {{0, 1}}),
                    run_elementwise(node, {sim::Bytes(6e8), {}, {}}, {{1, 4}}));
  // The small stream starts 4 us earlier and reads alone for that long, four times as fast: it takes 12 us less.
  EXPECT_NEAR(sim::to_microseconds(ends[0]), 1000.0 + around_us - 12.0, 0.1);
  EXPECT_NEAR(sim::to_microseconds(ends[1]), 1000.0 + around_us, 0.1);
}

// Every requested byte passes HBM once, at the cost of reading or writing it.
RC_GTEST_PROP(Elementwise, MovesItsBytesOnce, ()) {
  const double read = *rc::gen::inRange(1, 100'000'000);
  const double written = *rc::gen::inRange(0, 100'000'000);
  const PlatformSpec platform = round_platform();
  LoneNode node(platform);
  time_of(node, run_elementwise(node, {sim::Bytes(read), sim::Bytes(written), {}}, {}));
  const MemorySpec& memory = platform.gpu.memory;
  const double through_hbm = read / memory.hbm_read_efficiency + written / memory.hbm_write_efficiency;
  RC_ASSERT(std::abs(node.network().served(node.gpu(0).memory().hbm()) / through_hbm - 1.0) < 1e-6);
}

}  // namespace
}  // namespace c3sim::models
