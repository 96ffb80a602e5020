#include "models/kernels/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double around_us = 4.0 + 1.0 + 2.0;  // launch, dispatch, notice

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

// HBM gives 800 GB/s to reads and 500 GB/s to writes: 1250 + 2000 us.
TEST(Elementwise, IsBoundByTheBandwidthOfHbm) {
  EXPECT_NEAR(microseconds(round_platform(), {sim::Bytes(1e9), sim::Bytes(1e9), {}}), 3250.0 + around_us, 1e-3);
}

// A byte takes no time beside what surrounds the kernel.
TEST(Elementwise, OfOneByteIsItsLaunch) {
  EXPECT_NEAR(microseconds(round_platform(), {sim::Bytes(1.0), sim::Bytes(0.0), {}}), around_us, 1e-3);
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
