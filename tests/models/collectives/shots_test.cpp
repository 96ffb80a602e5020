// These tests cover collectives in one and in two shots: kernels that load from all peers at once.
#include <gtest/gtest.h>

#include "models/collectives/algorithm.h"
#include "models/collectives/channel_program.h"
#include "models/collectives/collective.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

constexpr double flags = 2.0;
constexpr double fence = 3.0;

// Returns the time without launch, dispatch, notice, and flags at the beginning and at the end.
double within_flags_us(const PlatformSpec& platform, const CollectiveSpec& spec) {
  return microseconds_on(platform, spec) - around_us - 2 * flags;
}

// Memories and links have no latency, so a pass takes 1 us. One GPU loads from three peers at 10 GB/s each.
PlatformSpec machine(double pass = 1e6) {
  PlatformSpec platform = round_platform();
  platform.shots.workgroups = 4;
  platform.shots.workgroup = round_cu();
  platform.shots.pass = sim::Bytes(pass);
  platform.shots.loop_latency = 1_us;
  platform.shots.flag_latency = 2_us;
  platform.shots.fence_latency = 3_us;
  return platform;
}

CollectiveSpec collective(Backend backend, double bytes, CollectiveKind kind = CollectiveKind::all_reduce) {
  return collective(kind, backend, sim::Bytes(bytes), 4);
}

// One shot takes flags, one pass and flags. Two shots take one pass for the sums and one to gather them; in the second
// the lanes of four workgroups are dealt to three peers.
TEST(Shots, OfASmallArrayWaitForFlagsAndPasses) {
  EXPECT_NEAR(within_flags_us(machine(), collective(Backend::one_shot, 4.0)), 1.0, 1e-3);
  EXPECT_NEAR(within_flags_us(machine(), collective(Backend::two_shot, 4.0)), fence + 2.0, 1e-3);
}

// Loading 4 MB from each of three peers over links of 10 GB/s takes 400 us. Two shots load a quarter of that twice; an
// all-gather and a reduce-scatter load a quarter once.
TEST(Shots, OfALargeArrayAreBoundByLinks) {
  EXPECT_NEAR(within_flags_us(machine(), collective(Backend::one_shot, 4e6)), 400.0, 1e-3);
  EXPECT_NEAR(within_flags_us(machine(), collective(Backend::two_shot, 4e6)), fence + 200.0, 1e-3);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    EXPECT_NEAR(within_flags_us(machine(), collective(Backend::one_shot, 4e6, kind)), 100.0, 1e-3);
  }
}

// Four workgroups with 1000 B per peer in flight for 1 us load 4 GB/s from each: 4 MB take 1000 us. Two shots load a
// quarter of it first, in 250 us. Then the lanes are dealt to the peers and load three quarters at 4 GB/s together, in
// 750 us. Eight workgroups load twice as fast.
TEST(Shots, AreBoundByWhatTheirWorkgroupsHaveUnderWay) {
  const PlatformSpec platform = machine(1000.0);
  EXPECT_NEAR(within_flags_us(platform, collective(Backend::one_shot, 4e6)), 1000.0, 1e-2);
  EXPECT_NEAR(within_flags_us(platform, collective(Backend::two_shot, 4e6)), fence + 1000.0, 1e-2);
  CollectiveSpec more = collective(Backend::one_shot, 4e6);
  more.channels = 8;
  EXPECT_NEAR(within_flags_us(platform, more), 500.0, 1e-2);
}

// Loading 2000 B needs one pass of two workgroups; four is the most unless more are requested.
TEST(Shots, TakeNoMoreWorkgroupsThanOnePassNeeds) {
  const PlatformSpec platform = machine(1000.0);
  EXPECT_EQ(channels_of(collective(Backend::one_shot, 1.0), platform), 1);
  EXPECT_EQ(channels_of(collective(Backend::one_shot, 2000.0), platform), 2);
  EXPECT_EQ(channels_of(collective(Backend::two_shot, 4e6), platform), 4);
}

// Of an array of S bytes each GPU receives S from every peer in one shot, and a quarter of S twice in two shots.
TEST(Shots, CarryTheirBytesOverEveryLink) {
  const auto carried = [](Backend backend, int from, int to) {
    LoneNode node(machine());
    time_on(node, collective(backend, 4e6));
    return node.network().served(node.fabric().link(from, to));
  };
  EXPECT_NEAR(carried(Backend::one_shot, 1, 2), 4e6, 1.0);
  EXPECT_NEAR(carried(Backend::one_shot, 3, 0), 4e6, 1.0);
  EXPECT_NEAR(carried(Backend::two_shot, 1, 2), 2e6, 1.0);
}

// The run itself checks that every byte arrives once, from the right place.
TEST(Shots, DeliverWhatTheCollectiveIsDue) {
  for (int gpus = 2; gpus <= 8; ++gpus) {
    for (const Algorithm& algorithm : backends()) {
      if (!by_kernels({algorithm.name})) continue;
      for (const CollectiveKind kind : algorithm.kinds) {
        CollectiveSpec spec = collective({algorithm.name}, 1e6, kind);
        spec.gpus = gpus;
        EXPECT_GT(time_on(mi300x(), spec), sim::Time::zero());
      }
    }
  }
}

TEST(Shots, TakeAsLongWhereOneGpuStandsForAll) {
  const PlatformSpec platform = mi300x();
  for (const Backend backend : {Backend::one_shot, Backend::two_shot}) {
    CollectiveSpec spec = collective(backend, 1e6);
    spec.gpus = platform.gpus;
    LoneNode alike(platform, Symmetry::all_alike);
    EXPECT_EQ(time_on(alike, spec), time_on(platform, spec));
  }
}

TEST(Shots, HaveNoMoreChannelsThanFitOnTheCus) {
  CollectiveSpec crowd = collective(Backend::one_shot, 1e6);
  crowd.channels = 9;
  EXPECT_EQ(why_impossible(crowd, LoneNode(machine())),
            "9 channels cannot be had: 1 to 8 are accepted, which fit on the CUs");
}

}  // namespace
}  // namespace c3sim::models
