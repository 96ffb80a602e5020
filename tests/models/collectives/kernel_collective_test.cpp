#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "models/collectives/collective.h"
#include "models/collectives/rccl.h"
#include "models/kernels/gemm.h"
#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

constexpr int gpus = 4;
constexpr double notice_us = 2.0;
constexpr double steps = 3.0;  // one for each other GPU

CollectiveSpec collective(CollectiveKind kind, double bytes, int members = gpus) {
  return collective(kind, Backend::rccl, sim::Bytes(bytes), members);
}

// Returns the time without launch, dispatch and notice.
double microseconds(const PlatformSpec& platform, const CollectiveSpec& spec, CuMask mask = {}) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_kernel_collective(node, spec, {mask}))) - around_us;
}

// LL takes 1 us a step. Each slice is one byte, which takes 0.4 ns at a quarter of 10 GB/s.
TEST(RcclTime, OfASmallArrayIsLaunchStepsAndNotice) {
  EXPECT_NEAR(microseconds(round_platform(), collective(CollectiveKind::all_gather, 4.0)), steps * 1.0 + 0.0004, 1e-5);
}

// Simple takes 4 us a step. Slices of 1 GB move at 10 GB/s on every link at once.
TEST(RcclTime, OfALargeArrayIsThatOfTheLinks) {
  EXPECT_NEAR(microseconds(round_platform(), collective(CollectiveKind::all_gather, 4e9)), steps * 4.0 + 1e5, 1e-4);
  EXPECT_NEAR(microseconds(round_platform(), collective(CollectiveKind::all_reduce, 4e9)), steps * 4.0 + 2e5, 1e-4)
      << "reduce-scatter and all-gather: twice the payload";
}

// The protocol reaches its share of the link: LL128 moves slices of 40 KB at half of 10 GB/s.
TEST(RcclTime, OfAMiddlingArrayHasTheEfficiencyOfItsProtocol) {
  EXPECT_NEAR(microseconds(round_platform(), collective(CollectiveKind::all_gather, 160e3)), steps * 2.0 + 8.0, 1e-4);
}

TEST(RcclTime, ACapturedGraphLaunchesFaster) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4.0);
  const double plain = microseconds(round_platform(), spec);
  spec.graph = true;
  EXPECT_NEAR(plain - microseconds(round_platform(), spec), 3.0, 1e-5);  // 4 - 1 us
}

// Two GPUs take one step instead of three, and half of the array crosses the link between them.
TEST(RcclTime, FewerGpusTakeFewerSteps) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9, 2);
  EXPECT_NEAR(microseconds(round_platform(), spec), 1.0 * 4.0 + 2e5, 1e-4);
}

// Two CUs of each XCD hold four of the six channels, which move their part of the 1 GB slices before the remaining two
// channels are placed, which takes another dispatch of 1 us.
TEST(RcclCus, FewerCusThanChannelsMakeRounds) {
  EXPECT_NEAR(microseconds(round_platform(), collective(CollectiveKind::all_gather, 4e9), {0, 2}),
              2.0 * steps * 4.0 + 1.0 + 1e5, 1e-4);
}

TEST(RcclCus, TwoChannelsOnACuNeedHalfOfTheCus) {
  PlatformSpec platform = round_platform();
  for (RcclCollectiveSpec& row : platform.rccl.collectives) row.channel = part_of_cu(2);
  EXPECT_NEAR(microseconds(platform, collective(CollectiveKind::all_gather, 4e9), {0, 2}), steps * 4.0 + 1e5, 1e-4);
}

// A channel with 12 KB of memory traffic in flight moves 3 KB of a part (read, written, read, written). Two channels
// per peer keep 6 KB in flight on each link: 6 GB/s at 1 us a step. On a ring of 4 GPUs a channel handles 4 parts for 3
// that arrive: 6 / (4/3) = 4.5 GB/s. In an exchange 6 channels serve 4 GPUs, their own included: 4.5 KB in flight per
// link, for which half of a link, and so LL128, is enough.
TEST(RcclCus, ChannelsWithTooLittleInFlightDoNotFillTheLinks) {
  using sim::operator""_us;
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_in_flight = sim::Bytes(12e3);
  platform.rccl.workgroup_latency = 1_us;
  EXPECT_NEAR(microseconds(platform, collective(CollectiveKind::all_gather, 4e9)), steps * 2.0 + 1e6 / 4.5, 1e-3);
  EXPECT_NEAR(microseconds(platform, collective(CollectiveKind::all_to_all, 4e9)), steps * 2.0 + 1e6 / 4.5, 1e-3);
}

// Three rings share four channels: two channels use each link of the first ring, so it carries half of all data.
TEST(RcclCus, ChannelsThatDoNotComeOutEvenLoadTheFirstRing) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
  spec.channels = 4;
  EXPECT_NEAR(microseconds(round_platform(), spec), steps * 4.0 + 1.5e5, 1e-3);
  spec.channels = 3;
  EXPECT_NEAR(microseconds(round_platform(), spec), steps * 4.0 + 1e5, 1e-3);
}

// Six rings share three links in pairs. Four channels are on the first two links and three are two to one, so that the
// first link carries half of all data and two thirds; six use all links alike.
TEST(RcclCus, RingsThatFollowEachOtherShareALink) {
  PlatformSpec platform = round_platform();
  platform.rccl.known_mesh = 4;
  platform.rccl.known_rings_of_link = 2;
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
  for (const auto& [channels, bytes_us] : {std::pair(3, 2e5), std::pair(4, 1.5e5), std::pair(6, 1e5)}) {
    spec.channels = channels;
    EXPECT_NEAR(microseconds(platform, spec), steps * 4.0 + bytes_us, 1e-3) << channels;
  }
}

// The library never uses more channels than its own choice, even if it is asked for more.
TEST(RcclCus, MoreChannelsThanTheLibrarysChangeNothing) {
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_in_flight = sim::Bytes(12e3);
  platform.rccl.workgroup_latency = sim::Time(1'000'000);
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
  const double time = microseconds(platform, spec);
  spec.channels = 8;
  EXPECT_EQ(microseconds(platform, spec), time);
  spec.channels = 5;
  EXPECT_GT(microseconds(platform, spec), time);
}

// Power far above the cap holds the clock at half of the highest. A loop of 1 us takes 2 us if it is all cycles and 1.5
// us if half of it is. With 3 KB a channel and two channels per peer: 3 and 4 GB/s, of which a ring of 4 has 3/4.
TEST(RcclClock, TheLoopOfAChannelFollowsIt) {
  PlatformSpec platform = round_platform();
  platform.rccl.workgroup_in_flight = sim::Bytes(12e3);
  platform.rccl.workgroup_latency = sim::Time(1'000'000);
  platform.gpu.power.lowest_clock = 0.5 * platform.gpu.power.highest_clock;
  platform.gpu.power.cap = sim::Watts(1.0);
  const CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
  const double latencies = steps * 2.0;
  EXPECT_NEAR(microseconds(platform, spec), latencies + 4.0 / 3.0 * 1e6 / 6.0, 1e-3);
  platform.rccl.loop_cycles = 0.5;
  EXPECT_NEAR(microseconds(platform, spec), latencies + 4.0 / 3.0 * 1e6 / 4.0, 1.0);
  platform.rccl.loop_cycles = 1.0;
  EXPECT_NEAR(microseconds(platform, spec), latencies + 4.0 / 3.0 * 1e6 / 3.0, 1.0);
}

// With 12 KB of reads in flight, a round trip of 1 us allows 12 GB/s: three peers share it, one does not reach it.
TEST(RcclAccess, ChannelsThatPullAreBoundByTheReadsInFlight) {
  using sim::operator""_ns;
  PlatformSpec platform = round_platform();
  platform.fabric.latency = 500_ns;
  platform.fabric.reads_in_flight = sim::Bytes(12e3);
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
  EXPECT_NEAR(microseconds(platform, spec), steps * 4.0 + 1e5, 1e-3);
  platform.rccl.access = RcclAccess::load;
  EXPECT_NEAR(microseconds(platform, spec), steps * 4.0 + 2.5e5, 1e-3);
  spec.gpus = 2;
  EXPECT_NEAR(microseconds(platform, spec), 1.0 * 4.0 + 2e5, 1e-3);
}

// run_kernel_collective itself checks that every byte arrives once.
RC_GTEST_PROP(RcclDelivery, EveryCollectiveDeliversEverythingOnAnyCus, ()) {
  CollectiveSpec spec =
      collective(*rc::gen::elementOf(all_kinds), *rc::gen::inRange(4, 1'000'000'000), *rc::gen::inRange(2, gpus + 1));
  microseconds(round_platform(), spec, {0, *rc::gen::inRange(1, 5)});
}

// A GEMM of one wave fills GPU 3 for 1 + 65.536 us. Its channels are placed then, and all other GPUs wait for them.
TEST(RcclCus, AChannelMovesOnceEveryGpuHasPlacedIt) {
  LoneNode node(round_platform());
  node.simulator().spawn("gemm", run_kernel(node, 3, gemm_kernel(node.spec().gpu, {1024, 128, 1000})));
  const sim::Time time = time_of(node, run_kernel_collective(node, collective(CollectiveKind::all_gather, 4.0), {}));
  EXPECT_NEAR(sim::to_microseconds(time), 66.536 + 1.0 + steps * 1.0 + 0.0004 + notice_us, 1e-5);
}

// GPU 3 runs a GEMM of 8 or 12 tiles on its 8 CUs. With 12, four of six channels are placed while the last four tiles
// run; at half of a link's rate their two thirds of a 1 GB slice load the link for twice as long. The other two are
// placed after the GEMM, as all six are with 8 tiles.
TEST(RcclCus, ChannelsThatArePlacedAmidAGemmGetLessThroughALink) {
  const auto behind_tiles = [](std::int64_t tiles) {
    PlatformSpec platform = round_platform();
    platform.rccl.late_placement = 0.5;
    LoneNode node(platform);
    node.simulator().spawn("gemm", run_kernel(node, 3, gemm_kernel(node.spec().gpu, {128 * tiles, 128, 1000})));
    const CollectiveSpec spec = collective(CollectiveKind::all_gather, 4e9);
    return sim::to_microseconds(time_of(node, run_kernel_collective(node, spec, {})));
  };
  const double first_placed = 1.0 + tile_us + 1.0 + steps * 4.0;
  EXPECT_NEAR(behind_tiles(8), first_placed + 1e5 + notice_us, 1e-3);
  EXPECT_NEAR(behind_tiles(12), first_placed + (2.0 / 3.0 * 2.0 + 1.0 / 3.0) * 1e5 + notice_us, 1e-3);
}

// Every GPU reads what it sends to three peers, and writes, reads and writes again what it receives from three: 12
// bytes per byte on a link. 10 GB/s of HBM therefore give each link 10 / 12 GB/s.
TEST(RcclMemory, BoundsTheLinksWhereItIsSlow) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_rate = sim::BytesPerSecond(10e9);
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  const CollectiveSpec spec = collective(CollectiveKind::all_to_all, 4e9);
  const double latencies = steps * 4.0;
  EXPECT_NEAR(microseconds(platform, spec), latencies + 1.2e6, 1e-2);
  for (RcclCollectiveSpec& row : platform.rccl.collectives) row.buffer_share = 0.5;
  EXPECT_NEAR(microseconds(platform, spec), latencies + 0.6e6, 1e-2) << "half stays in the Infinity Cache";
}

TEST(RcclConservation, LinksCarryThePayloadOfEveryPair) {
  for (const CollectiveKind kind : all_kinds) {
    PlatformSpec platform = round_platform();
    for (RcclProtocolSpec& protocol : platform.rccl.protocols) protocol.link_efficiency = 0.5;
    LoneNode node(platform);
    const CollectiveSpec spec = collective(kind, 1e6);
    time_of(node, run_kernel_collective(node, spec, {}));
    for (int from = 0; from < gpus; ++from) {
      for (int to = 0; to < gpus; ++to) {
        if (from == to) continue;
        const double carried = 0.5 * node.network().served(node.fabric().link(from, to));
        EXPECT_NEAR(carried, payload_between(spec, from, to).value(), 1.0) << to_string(kind) << from << to;
      }
    }
  }
}

// The overlap study's counters_8k: an all-reduce of S bytes on 8 GPUs reads and writes 2.75 S each, all in HBM.
TEST(RcclConservation, AnAllReduceMovesTheMeasuredBytesThroughHbm) {
  PlatformSpec platform = mi300x();
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  LoneNode node(platform);
  CollectiveSpec spec = collective(CollectiveKind::all_reduce, 536870912.0, 8);
  time_of(node, run_kernel_collective(node, spec, {}));
  EXPECT_NEAR(node.network().served(node.gpu(0).memory().hbm()) / spec.bytes.value(), 5.5, 0.01);
}

// Slices of 1 MB on 12 links move 4 memory bytes per byte over a link; nothing stays in the Infinity Cache.
TEST(RcclConservation, MemoriesMoveWhatTheTableSaysPerByteOfPayload) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_read_efficiency = platform.gpu.memory.hbm_write_efficiency = 1.0;
  LoneNode node(platform);
  time_of(node, run_kernel_collective(node, collective(CollectiveKind::all_to_all, 4e6), {}));
  double served = 0.0;
  for (int gpu = 0; gpu < gpus; ++gpu) served += node.network().served(node.gpu(gpu).memory().hbm());
  EXPECT_NEAR(served, 12.0 * 4.0 * 1e6, 1.0);
}

// Except in a broadcast, all GPUs play the same part: the links and the memory of any GPU move as much as those of the
// first.
TEST(RcclSymmetry, EveryGpuMovesTheSame) {
  for (const CollectiveKind kind : all_kinds) {
    if (kind == CollectiveKind::broadcast) continue;
    LoneNode node(round_platform());
    time_of(node, run_kernel_collective(node, collective(kind, 4e6), {}));
    const auto served = [&node](sim::ResourceNetwork::ResourceId id) { return node.network().served(id); };
    for (int gpu = 0; gpu < gpus; ++gpu) {
      EXPECT_EQ(served(node.gpu(gpu).memory().hbm()), served(node.gpu(0).memory().hbm())) << to_string(kind);
      for (const auto port : node.fabric().ports(gpu)) EXPECT_EQ(served(port), served(node.fabric().link(0, 1)));
    }
  }
}

// The bus bandwidth counts the bytes that each receiving GPU receives.
RC_GTEST_PROP(RcclPayload, OfAllPairsIsWhatTheBusBandwidthCounts, ()) {
  CollectiveSpec spec = collective(*rc::gen::elementOf(all_kinds), 0.0, *rc::gen::inRange(2, 17));
  spec.bytes = sim::Bytes(spec.gpus * *rc::gen::inRange(1, 100'000'000));
  double sum = 0.0;
  for (int from = 0; from < spec.gpus; ++from) {
    for (int to = 0; to < spec.gpus; ++to) sum += payload_between(spec, from, to).value();
  }
  const int receivers = spec.kind == CollectiveKind::broadcast ? spec.gpus - 1 : spec.gpus;
  const double counted = receivers * bus_bandwidth(spec, sim::to_time(sim::Seconds(1.0))).value();
  RC_ASSERT(std::abs(sum - counted) <= 1e-9 * counted);
}

// Each collective of 800 B on 8 GPUs takes one second.
TEST(RcclPayload, BusBandwidthIsThatOfRcclTests) {
  CollectiveSpec spec = collective(CollectiveKind::all_gather, 800.0, 8);
  const auto bandwidth = [&spec](CollectiveKind kind) {
    spec.kind = kind;
    return bus_bandwidth(spec, sim::to_time(sim::Seconds(1.0))).value();
  };
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::all_gather), 700.0);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::all_to_all), 700.0);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::reduce_scatter), 700.0);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::all_reduce), 1400.0);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::broadcast), 800.0);
}

RC_GTEST_PROP(RcclMonotony, ALargerArrayOrFewerCusNeverTakesLessTime, ()) {
  const PlatformSpec platform = round_platform();
  const CollectiveKind kind = *rc::gen::elementOf(all_kinds);
  const double bytes = *rc::gen::inRange(4, 1'000'000'000);
  const int cus = *rc::gen::inRange(1, 4);
  const double time = microseconds(platform, collective(kind, bytes), {0, cus + 1});
  RC_ASSERT(microseconds(platform, collective(kind, 1.5 * bytes), {0, cus + 1}) >= time);
  RC_ASSERT(microseconds(platform, collective(kind, bytes), {0, cus}) >= time - 1e-4);
}

}  // namespace
}  // namespace c3sim::models
