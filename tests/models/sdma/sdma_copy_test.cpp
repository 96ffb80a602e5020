#include "models/sdma/sdma_copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/kernels/block_copies.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_us;
using sim::operator""_MiB;

const SdmaCopySpec megabyte{0, 1, sim::Bytes(1e6), {}};

// CopyPlatform::round() takes 65 ns for each of two commands, 2 ns for a doorbell, 32 ns to the engine, 64 ns to fetch,
// 256 ns of set-up, 10 bytes per ns and 512 + 2 * 16 ns; the ATOMIC, decoded meanwhile, takes 2048 ns, its check 8 ns.
TEST(SdmaCopy, PhasesAreTheStepsOfTheCommand) {
  CopyNode node(CopyPlatform::round());
  const SdmaCopyPhases phases = node.run(megabyte);
  EXPECT_EQ(phases.control, 132_ns);
  EXPECT_EQ(phases.schedule, 96_ns);
  EXPECT_NEAR(sim::to_microseconds(phases.copy), 100.8, 1e-5);
  EXPECT_EQ(phases.completion, 2056_ns);
  EXPECT_EQ(phases.total(), node.simulator().now());
}

TEST(SdmaCopy, AnInterruptIsSlowerThanPolling) {
  CopyPlatform platform = CopyPlatform::round();
  platform.host.wait = HostWait::interrupt;
  CopyNode node(platform);
  const SdmaCopyPhases phases = node.run(megabyte);
  // The TRAP follows the ATOMIC: decoding takes 128 ns, its write 2048 ns, the interrupt 4096 ns and the check 8 ns.
  EXPECT_EQ(phases.completion, 6280_ns);
}

sim::Task<> copy_on(CopyNode& node, SdmaCopySpec spec, MemoryWord* turn = nullptr) {
  const QueueUser user;
  co_await run_sdma_copy(node.host(), node.complexes(), spec, user, turn);
}

SdmaCopySpec pull(int by, int engine) {
  return {.from = 1 - by, .to = by, .bytes = sim::Bytes(1e6), .engine = engine, .pull = true};
}

// Returns a platform on which pulls take turns of 50 us at 4 bytes per ns of both their GPUs.
CopyPlatform in_turns() {
  CopyPlatform platform = CopyPlatform::round();
  platform.host.threads = HostThreads::per_gpu;
  platform.sdma.pull_rate = sim::BytesPerSecond(4e9);
  platform.sdma.pull_turn = 50_us;
  return platform;
}

struct Pull {
  int by;
  int engine;
  sim::Time delay{0};
};

sim::Task<> pull_late(CopyNode& node, Pull one, double& end_us) {
  co_await node.simulator().delay(one.delay);
  co_await copy_on(node, pull(one.by, one.engine));
  end_us = sim::to_microseconds(node.simulator().now());
}

// Returns when each of the pulls ends.
std::vector<double> ends_of(const std::vector<Pull>& pulls) {
  CopyNode node(in_turns());
  std::vector<double> ends(pulls.size());
  for (std::size_t i = 0; i < pulls.size(); ++i) node.simulator().spawn("a pull", pull_late(node, pulls[i], ends[i]));
  node.simulator().run();
  return ends;
}

// At 10 bytes per ns a link moves 1e6 bytes in 100 us. Commands and latencies take a few us more.
TEST(SdmaPulls, OneEachWayGoAsFastAsTheLinks) {
  EXPECT_NEAR(ends_of({{0, 2}}).front(), 103.0, 1.0);
  for (const double end : ends_of({{0, 2}, {1, 2}})) EXPECT_NEAR(end, 103.0, 1.0);
}

// Each pull takes 250 us for its bytes and 50 us for its turn, at a rate that all pulls of a GPU, as reader or server,
// share: two one way take 600 us, two each way 1200 us. All are active at once and end together.
TEST(SdmaPulls, OfSeveralEnginesShareARateOfBothGpusAndTakeTurns) {
  for (const double end : ends_of({{0, 2}, {0, 3}})) EXPECT_NEAR(end, 603.0, 2.0);
  for (const double end : ends_of({{0, 2}, {0, 3}, {1, 2}, {1, 3}})) EXPECT_NEAR(end, 1203.0, 3.0);
}

// One pull begins 1 us later. Meanwhile the other has the link and reads 1e4 bytes, which take 6 of its 600 us in
// turns; both pulls end earlier by at most that much, and neither is faster than the other.
TEST(SdmaPulls, AreNotFasterForComingFirst) {
  const std::vector<double> together = ends_of({{0, 2}, {0, 3}});
  for (const std::vector<double>& ends : {ends_of({{0, 2}, {0, 3, 1_us}}), ends_of({{0, 2, 1_us}, {0, 3}})}) {
    EXPECT_NEAR(ends[0], together[0], 6.0);
    EXPECT_NEAR(ends[1], together[1], 6.0);
  }
}

// The first pull is alone for 10 us and reads a tenth. Then both get 1e6 bytes per 600 us until the first has its rest,
// after 540 us; then the second reads its last tenth over the link in 10 us.
TEST(SdmaPulls, HaveTheLinkBackWhenTheyAreAlone) {
  const std::vector<double> ends = ends_of({{0, 2}, {0, 3, 10_us}});
  EXPECT_NEAR(ends[0], 10.0 + 540.0 + 3.0, 3.0);
  EXPECT_NEAR(ends[1], 10.0 + 540.0 + 10.0 + 3.0, 3.0);
}

// With another pull from the same GPU waiting, a pull takes 300 us; with none waiting, 100 us.
TEST(SdmaPulls, FromAGpuThatOthersWaitForAreSlow) {
  CopyNode node(in_turns());
  MemoryWord turn(node.simulator(), "turn", 0);
  const auto pull_first = [](CopyNode& on, MemoryWord& turn_of_other) -> sim::Task<> {
    co_await copy_on(on, pull(0, 2));
    turn_of_other.write(1);
  };
  const std::vector<sim::Time> ends =
      ends_together(node.simulator(), copy_on(node, pull(0, 3), &turn), pull_first(node, turn));
  EXPECT_NEAR(sim::to_microseconds(ends[1]), 303.0, 1.5);
  EXPECT_NEAR(sim::to_microseconds(ends[0]), 407.0, 3.0);
}

// Two copies queued at once stay whole: the first is known to have ended long before the second.
TEST(SdmaCopy, CommandsOfCopiesOnOneQueueDoNotMix) {
  CopyNode node(CopyPlatform::round());
  const std::vector<sim::Time> ends = ends_together(node.simulator(), copy_on(node, megabyte), copy_on(node, megabyte));
  EXPECT_GT(ends[1] - ends[0], 100_us);
}

// A word that another task writes tells the engine when to begin.
TEST(SdmaCopy, WaitsForItsTurn) {
  CopyNode node(CopyPlatform::round());
  MemoryWord turn(node.simulator(), "turn", 0);
  node.simulator().schedule(500_us, sim::EventAction([&turn] { turn.write(1); }));
  const sim::Time end = ends_together(node.simulator(), copy_on(node, megabyte, &turn)).front();
  EXPECT_GT(end, 600_us);
  EXPECT_LT(end, 605_us);
}

// pcie_host_device_mi300x.csv gives 56 GB/s from the device on the right engine, 48 on the wrong one, 55 to the device.
TEST(SdmaCopy, HostCopiesRunAtTheMeasuredRates) {
  const auto rate = [](int from, int to, std::optional<int> engine) {
    CopyNode node(CopyPlatform::mi300x());
    return 1073.741824e3 / sim::to_microseconds(node.run(SdmaCopySpec{from, to, 1024_MiB, engine}).copy);
  };
  EXPECT_NEAR(rate(0, host_device, {}), 56.0, 0.5);
  EXPECT_NEAR(rate(0, host_device, 0), 48.0, 0.5);
  EXPECT_NEAR(rate(host_device, 0, {}), 55.0, 0.5);
}

TEST(SdmaCopy, SaysWhyItIsImpossible) {
  // The samples in tests/data/samples hold the other impossible copies.
  const SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1_MiB, 15}, sdma, 8), "");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, sim::Bytes(0), {}}, sdma, 8), "a copy moves at least one byte");
}

// A ring of 64 B holds two packets of 28 B, which move 128 B: 2^23 rings of them are 1 GiB.
TEST(SdmaCopy, IsRefusedWhereItsRingIsFilledMillionsOfTimes) {
  SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  sdma.ring = sim::Bytes(64.0);
  sdma.packets.transfer_limit = sim::Bytes(64.0);
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 128_MiB, {}}, sdma, 8), "");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1024_MiB, {}}, sdma, 8),
            "a copy of 1GiB fills the ring of its engine's queue 8388608 times over, 2097152 are simulated: a larger "
            "gpu.sdma.ring or gpu.sdma.packets.transfer_limit is accepted");
}

// Two GPUs of CopyPlatform::round() have links and engines of 10 GB/s, so a block of 100 kB takes 10 us.

using sim::operator""_GBps;

constexpr double block = 1e5;
constexpr double copies_start_us = 4.0;
constexpr double copies_notice_us = 1.0;

CopyPlatform with_calls() {
  CopyPlatform platform = CopyPlatform::round();
  platform.host.kernel_notice = 1_us;
  platform.host.copies = {.call = 1_us,
                          .start = 4_us,
                          .order_from_host = 2_us,
                          .order_to_host = 3_us,
                          .order_of_peers = 5_us,
                          .batch_packs = true,
                          .host_rate = 10.0_GBps,
                          .both_ways_rate = 10.0_GBps,
                          .kernels_up_to = {},
                          .kernel_order = 6_us,
                          .kernel_batch_order = 7_us,
                          .workgroup_in_flight = {}};
  return platform;
}

SdmaCopySpec blocks(int from, int to, Submission submit, std::int64_t copies = 100) {
  return {.from = from, .to = to, .bytes = sim::Bytes(block), .submit = submit, .copies = copies};
}

sim::Task<> copy(CopyNode& node, SdmaCopySpec spec, double& us) {
  us = sim::to_microseconds((co_await run_block_copies(node.host(), node.complexes(), node.fabric(), spec)).total());
}

double microseconds(const CopyPlatform& platform, const SdmaCopySpec& spec) {
  CopyNode node(platform);
  double us = 0.0;
  node.simulator().spawn("blocks", copy(node, spec, us));
  node.simulator().run();
  return us;
}

// A stream takes its start, 100 blocks of 10 us, 99 gaps between them, and the notice.
TEST(BlockCopies, WaitForEachOtherInAStream) {
  const CopyPlatform platform = with_calls();
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::each)), 4 + 1000 + 99 * 2 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, host_device, Submission::graph)), 4 + 1000 + 99 * 3 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 4 + 1000 + 99 * 5 + 1, 1e-3);
}

TEST(BlockCopies, OneTakesItsStartDataAndNotice) {
  for (const Submission submit : {Submission::each, Submission::graph}) {
    EXPECT_NEAR(microseconds(with_calls(), blocks(0, 1, submit, 1)), copies_start_us + 10 + copies_notice_us, 1e-3);
  }
}

// Each set-up after the first takes 256 ns; 100 packets of 1 ns are written before the call is made.
TEST(BlockCopies, OfABatchAreOnlySetUpOneBehindTheOther) {
  CopyPlatform platform = with_calls();
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 0.256 + 1, 1e-3);
  platform.host.copies.batch_packs = false;
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 2 + 1, 1e-3);
}

// The last of 100 calls of 20 us is made 1980 us after the first; a graph needs no calls.
TEST(BlockCopies, WaitForCallsThatTakeLonger) {
  CopyPlatform platform = with_calls();
  platform.host.copies.call = platform.host.copies.start = 20_us;
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 20 + 99 * 20 + 10 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::graph)), 20 + 1000 + 99 * 5 + 1, 1e-3);
}

TEST(BlockCopies, SmallOnesAreKernelsOfTheRuntime) {
  CopyPlatform platform = with_calls();
  platform.host.copies.kernels_up_to = sim::Bytes(block);
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::each)), 4 + 1000 + 99 * 6 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(host_device, 0, Submission::batch)), 4 + 0.1 + 1000 + 99 * 7 + 1, 1e-3);
  EXPECT_NEAR(microseconds(platform, blocks(0, 1, Submission::each)), 4 + 1000 + 99 * 5 + 1, 1e-3);
}

// Each of two copies of 1e9 bytes takes 1e5 us alone.
TEST(BlockCopies, BothWaysShareOneEngineAndNotTwo) {
  const auto both_ways = [](double engine_GBps, int other_engine) {
    CopyPlatform platform = with_calls();
    platform.host.copies.both_ways_rate = sim::BytesPerSecond(engine_GBps * 1e9);
    CopyNode node(platform);
    double in = 0.0;
    double out = 0.0;
    SdmaCopySpec one = blocks(host_device, 0, Submission::graph, 1);
    one.bytes = sim::Bytes(1e9);
    one.engine = 1;
    SdmaCopySpec other = one;
    std::swap(other.from, other.to);
    other.engine = other_engine;
    node.simulator().spawn("in", copy(node, one, in));
    node.simulator().spawn("out", copy(node, other, out));
    node.simulator().run();
    return std::max(in, out);
  };
  EXPECT_NEAR(both_ways(10.0, 1), 2e5, 20);
  EXPECT_NEAR(both_ways(16.0, 1), 2e9 / 16e3, 20);
  EXPECT_NEAR(both_ways(20.0, 1), 1e5, 20);
}

TEST(BlockCopies, AreOfARuntime) {
  const SdmaSpec sdma = CopyPlatform::round().sdma;
  EXPECT_EQ(why_impossible(blocks(0, 1, Submission::kernel), sdma, 2), "");
  EXPECT_EQ(why_impossible({.from = 0, .to = 1, .bytes = sim::Bytes(1.0), .copies = 2}, sdma, 2),
            "blocks are copied by a runtime: each, batch, graph or kernel");
}

}  // namespace
}  // namespace c3sim::models
