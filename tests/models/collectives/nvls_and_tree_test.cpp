// All-reduces that are added up in switches or along trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/collectives/algorithm.h"
#include "models/collectives/nvls.h"
#include "models/collectives/tree.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_GBps;
using sim::operator""_us;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Four GPUs whose ports pass 10 GB/s each way. A round of 4 channels takes 100 KB of each part: 1.6 MB of the array, of
// which 1.6 MB and a quarter of it pass each port, in 200 us and 2 us of flags.
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

// 4 us of launch, 1 of dispatch, 1 of start, a hundred rounds in each of three stages one behind the other, 2 of
// notice.
TEST(Nvls, OfALargeArrayPassesItOnceOverThePorts) {
  CollectiveSpec spec = all_reduce_over_four(160e6);
  spec.algorithm = RcclAlgorithm::nvls;
  EXPECT_NEAR(microseconds_on(platform_with_switch(), spec), 4.0 + 1.0 + 1.0 + 102.0 * 202.0 + 2.0, 0.1);
}

// One round in three stages, of 4 B of which 5 B pass the ports.
TEST(Nvls, OfASmallArrayIsLatency) {
  CollectiveSpec spec = all_reduce_over_four(4.0);
  spec.algorithm = RcclAlgorithm::nvls;
  EXPECT_NEAR(microseconds_on(platform_with_switch(), spec), 4.0 + 1.0 + 1.0 + 3.0 * 2.0 + 2.0, 0.1);
}

// The tuner expects 20 us + S / 8 GB/s of it. Of rings it expects most of Simple: 20 us and 6 hops of 1 us, and 1.5 S
// at 10 GB/s: less from 240 KB on, where rings of LL and LL128 are slower than either.
TEST(Nvls, IsTakenWhereTheTunerExpectsMoreOfItThanOfRings) {
  const PlatformSpec platform = platform_with_switch();
  EXPECT_FALSE(takes_nvls(all_reduce_over_four(1e3), platform)) << "1 us + 6 us + 1.5 us by LL";
  EXPECT_TRUE(takes_nvls(all_reduce_over_four(1e6), platform)) << "145 us, and 176 by rings";
  PlatformSpec off = platform;
  off.rccl.nvls->enabled = false;
  EXPECT_FALSE(takes_nvls(all_reduce_over_four(1e6), off));
  CollectiveSpec ring = all_reduce_over_four(1e6);
  ring.algorithm = RcclAlgorithm::ring;
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

// Ports pass 10 GB/s each way. Of four GPUs and S bytes the tuner expects of rings 7 us + 1.5 S / 1 GB/s by LL, 16 us +
// 1.5 S / 4 by LL128 and 26 us + 1.5 S / 10 by Simple; along a tree 7 us + 2 S / 1, 10.6 us + 2 S / 4 and
// 20.6 us + 2 S / 10.
PlatformSpec platform_with_trees() {
  PlatformSpec platform = round_platform();
  platform.fabric.topology = Topology::fabric_switch;
  platform.rccl.tuner = {{{1_us, 1_us, 1.0_GBps}, {10_us, 1_us, 4.0_GBps}, {20_us, 1_us, 10.0_GBps}}};
  platform.rccl.tree_tuner = {
      {{1_us, 1_us, 1.0_GBps}, {10_us, sim::Time(100'000), 4.0_GBps}, {20_us, sim::Time(100'000), 10.0_GBps}}};
  return platform;
}

// 4 us of launch, 1 of dispatch, six hops of 4 us, the array twice through a port, 2 us of notice.
TEST(Tree, PassesTheArrayTwiceThroughAPort) {
  CollectiveSpec spec = all_reduce_over_four(160e6);
  spec.algorithm = RcclAlgorithm::tree;
  EXPECT_NEAR(microseconds_on(platform_with_trees(), spec), 4.0 + 1.0 + 24.0 + 32'000.0 + 2.0, 1.0);
}

// Six hops of 1 us by LL.
TEST(Tree, OfASmallArrayIsItsHops) {
  CollectiveSpec spec = all_reduce_over_four(4.0);
  spec.algorithm = RcclAlgorithm::tree;
  EXPECT_NEAR(microseconds_on(platform_with_trees(), spec), 4.0 + 1.0 + 6.0 + 2.0, 0.1);
}

// Down and up again a GPU waits six times for a chunk of 512 KiB on each of 6 channels, and a port passes two at once:
// 629 us each. A loop that takes no time copies the last one.
TEST(Tree, FillsChunkByChunk) {
  PlatformSpec platform = platform_with_trees();
  CollectiveSpec spec = all_reduce_over_four(160e6);
  spec.algorithm = RcclAlgorithm::tree;
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
  CollectiveSpec ring = all_reduce_over_four(10e3);
  ring.algorithm = RcclAlgorithm::ring;
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
