// These tests cover all-reduces that switches or trees add up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/collectives/collective.h"
#include "models/collectives/rccl.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_GBps;
using sim::operator""_us;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Four GPUs have ports of 10 GB/s each way. A round of 4 channels takes 100 KB of each part, 1.6 MB of the array. These
// and another quarter of them pass each port in 200 us, and flags take 2 us.
PlatformSpec platform_with_switch() {
  PlatformSpec platform = round_platform();
  platform.fabric.topology = Topology::fabric_switch;
  NvlsSpec& nvls = platform.rccl.nvls.emplace();
  nvls.channels = 4;
  nvls.channel = platform.rccl.collective(CollectiveKind::all_reduce).channel;
  nvls.chunk = sim::Bytes(400e3);
  nvls.start = 1_us;
  nvls.round_latency = 2_us;
  nvls.link_efficiency = 1.0;
  nvls.tuned_base = 20_us;
  nvls.tuned_rate = 8.0_GBps;
  platform.rccl.tuner = {{{1_us, 1_us, 1.0_GBps}, {10_us, 1_us, 4.0_GBps}, {20_us, 1_us, 10.0_GBps}}};
  return platform;
}

// The launch takes 4 us, dispatch 1, the start 1 and the notice 2. A hundred rounds pass three stages one after the
// other, so 102 rounds' time elapses.
TEST(Nvls, OfALargeArrayPassesItOnceOverThePorts) {
  const CollectiveSpec spec = all_reduce_over_four(160e6, RcclAlgorithm::nvls);
  EXPECT_NEAR(microseconds_on(platform_with_switch(), spec), 4.0 + 1.0 + 1.0 + 102.0 * 202.0 + 2.0, 0.1);
}

// One round of 4 B passes three stages, and 5 B cross each port.
TEST(Nvls, OfASmallArrayIsLatency) {
  const CollectiveSpec spec = all_reduce_over_four(4.0, RcclAlgorithm::nvls);
  EXPECT_NEAR(microseconds_on(platform_with_switch(), spec), 4.0 + 1.0 + 1.0 + 3.0 * 2.0 + 2.0, 0.1);
}

// The tuner expects NVLS to take 20 us + S / 8 GB/s and rings, at best by Simple, 20 us + 6 hops of 1 us + 1.5 S at 10
// GB/s. NVLS is expected to be faster from 240 KB on, where LL and LL128 are slower than both.
TEST(Nvls, IsTakenWhereTheTunerExpectsMoreOfItThanOfRings) {
  const PlatformSpec platform = platform_with_switch();
  EXPECT_FALSE(takes_nvls(all_reduce_over_four(1e3), platform)) << "1 us + 6 us + 1.5 us by LL";
  EXPECT_TRUE(takes_nvls(all_reduce_over_four(1e6), platform)) << "145 us, and 176 by rings";
  PlatformSpec off = platform;
  off.rccl.nvls->enabled = false;
  EXPECT_FALSE(takes_nvls(all_reduce_over_four(1e6), off));
  const CollectiveSpec ring = all_reduce_over_four(1e6, RcclAlgorithm::ring);
  EXPECT_FALSE(takes_nvls(ring, platform));
}

TEST(Nvls, IsNotForWhatSwitchesDoNotAdd) {
  const PlatformSpec platform = platform_with_switch();
  EXPECT_THAT(why_no_nvls(all_reduce_over_four(1e6), platform), IsEmpty());
  CollectiveSpec of_bytes = all_reduce_over_four(1e6);
  of_bytes.dtype = ElementType::int8;
  EXPECT_THAT(why_no_nvls(of_bytes, platform), HasSubstr("switches do not add int8: bf16, fp16, fp32 and int32"));
  EXPECT_FALSE(takes_nvls(of_bytes, platform));
  CollectiveSpec of_two = all_reduce_over_four(1e6);
  of_two.gpus = 2;
  EXPECT_THAT(why_no_nvls(of_two, platform), HasSubstr("no less than 3 GPUs"));
  CollectiveSpec gather = all_reduce_over_four(1e6);
  gather.kind = CollectiveKind::all_gather;
  EXPECT_THAT(why_no_nvls(gather, platform), HasSubstr("nvls has no all_gather"));
  EXPECT_THAT(why_no_nvls(all_reduce_over_four(1e6), round_platform()),
              HasSubstr("nothing adds in the switches of round"));
}

// Ports pass 10 GB/s each way. For four GPUs and S bytes the tuner expects rings to take 7 us + 1.5 S / 1 GB/s by LL,
// 16 us + 1.5 S / 4 by LL128 and 26 us + 1.5 S / 10 by Simple; it expects trees to take 7 us + 2 S / 1, 10.6 us + 2 S /
// 4 and 20.6 us + 2 S / 10.
PlatformSpec platform_with_trees() {
  PlatformSpec platform = round_platform();
  platform.fabric.topology = Topology::fabric_switch;
  platform.rccl.tuner = {{{1_us, 1_us, 1.0_GBps}, {10_us, 1_us, 4.0_GBps}, {20_us, 1_us, 10.0_GBps}}};
  platform.rccl.tree_tuner = {
      {{1_us, 1_us, 1.0_GBps}, {10_us, sim::Time(100'000), 4.0_GBps}, {20_us, sim::Time(100'000), 10.0_GBps}}};
  return platform;
}

// The launch takes 4 us, dispatch 1, six hops 4 each and the notice 2; the array passes a port twice.
TEST(Tree, PassesTheArrayTwiceThroughAPort) {
  const CollectiveSpec spec = all_reduce_over_four(160e6, RcclAlgorithm::tree);
  EXPECT_NEAR(microseconds_on(platform_with_trees(), spec), 4.0 + 1.0 + 24.0 + 32'000.0 + 2.0, 1.0);
}

// LL takes six hops of 1 us.
TEST(Tree, OfASmallArrayIsItsHops) {
  const CollectiveSpec spec = all_reduce_over_four(4.0, RcclAlgorithm::tree);
  EXPECT_NEAR(microseconds_on(platform_with_trees(), spec), 4.0 + 1.0 + 6.0 + 2.0, 0.1);
}

// On the way down and up a GPU waits six times for a chunk of 512 KiB on each of 6 channels, and a port passes two
// chunks at once: 629 us each. The loop takes no time, so copying the last chunk adds nothing.
TEST(Tree, FillsChunkByChunk) {
  PlatformSpec platform = platform_with_trees();
  const CollectiveSpec spec = all_reduce_over_four(160e6, RcclAlgorithm::tree);
  const double without = microseconds_on(platform, spec);
  platform.rccl.collectives[static_cast<std::size_t>(CollectiveKind::all_reduce)].chunk = sim::Bytes(1e6);
  const double of_chunk = 6.0 * 524'288.0 / 10e3;
  EXPECT_NEAR(microseconds_on(platform, spec), without + 6.0 * of_chunk, 2.0);
}

TEST(Tree, IsTakenWhereTheTunerExpectsLessOfItThanOfRings) {
  const PlatformSpec platform = platform_with_trees();
  EXPECT_FALSE(takes_tree(all_reduce_over_four(1e3), platform)) << "9 us, and 8.5 by rings";
  EXPECT_TRUE(takes_tree(all_reduce_over_four(10e3), platform)) << "15.6 us, and 19.75 by rings";
  EXPECT_FALSE(takes_tree(all_reduce_over_four(1e6), platform)) << "220.6 us, and 176 by rings";
  const CollectiveSpec ring = all_reduce_over_four(10e3, RcclAlgorithm::ring);
  EXPECT_FALSE(takes_tree(ring, platform));
  PlatformSpec without = platform;
  without.rccl.tree_tuner.reset();
  EXPECT_FALSE(takes_tree(all_reduce_over_four(10e3), without));
}

TEST(Tree, IsForAllReducesOfLibrariesThatHaveTrees) {
  const PlatformSpec platform = platform_with_trees();
  EXPECT_THAT(why_no_tree(all_reduce_over_four(1e6), platform), IsEmpty());
  CollectiveSpec gather = all_reduce_over_four(1e6);
  gather.kind = CollectiveKind::all_gather;
  EXPECT_THAT(why_no_tree(gather, platform), HasSubstr("a tree has no all_gather"));
  EXPECT_THAT(why_no_tree(all_reduce_over_four(1e6), round_platform()), HasSubstr("trees of round are not described"));
}

}  // namespace
}  // namespace c3sim::models
