#include "models/sdma/sdma_copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_us;
using sim::operator""_MiB;

// CopyPlatform::round(): two commands of 65 ns and a doorbell of 2 ns; 32 ns to the engine and 64 ns to fetch; 256 ns
// of set-up, 10 bytes per ns, 512 + 2 * 16 ns; the ATOMIC, decoded meanwhile, 2048 ns under way and seen within 8 ns.
TEST(SdmaCopy, PhasesAreTheStepsOfTheCommand) {
  CopyNode node(CopyPlatform::round());
  const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(1e6), {}});
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
  const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(1e6), {}});
  // The TRAP behind the ATOMIC takes its 128 ns to decode, its write 2048 ns, the interrupt 4096 ns; seen in 8 ns.
  EXPECT_EQ(phases.completion, 6280_ns);
}

sim::Task<> pull(CopyNode& node, int engine, int by = 0, sim::Bytes bytes = sim::Bytes(1e6)) {
  const SdmaCopySpec spec{.from = 1 - by, .to = by, .bytes = bytes, .engine = engine, .pull = true};
  co_await run_sdma_copy(node.host(), node.complexes(), spec);
}

// Pulls that take turns of 50 us at 4 bytes per ns of both their GPUs.
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
  co_await pull(node, one.engine, one.by);
  end_us = sim::to_microseconds(node.simulator().now());
}

// When each of them has ended.
std::vector<double> ends_of(const std::vector<Pull>& pulls) {
  CopyNode node(in_turns());
  std::vector<double> ends(pulls.size());
  for (std::size_t i = 0; i < pulls.size(); ++i) node.simulator().spawn("a pull", pull_late(node, pulls[i], ends[i]));
  node.simulator().run();
  return ends;
}

// 1e6 bytes by a link of 10 bytes per ns take 100 us. The rest is some us of commands and latencies.
TEST(SdmaPulls, OneEachWayGoAsFastAsTheLinks) {
  EXPECT_NEAR(ends_of({{0, 2}}).front(), 103.0, 1.0);
  for (const double end : ends_of({{0, 2}, {1, 2}})) EXPECT_NEAR(end, 103.0, 1.0);
}

// 250 us for the bytes of each and 50 us for its turn, of a rate that all of a GPU share, read or serving: two one way
// take 600 us, two each way 1200 us. All are under way at once, so that they end together.
TEST(SdmaPulls, OfSeveralEnginesShareARateOfBothGpusAndTakeTurns) {
  for (const double end : ends_of({{0, 2}, {0, 3}})) EXPECT_NEAR(end, 603.0, 2.0);
  for (const double end : ends_of({{0, 2}, {0, 3}, {1, 2}, {1, 3}})) EXPECT_NEAR(end, 1203.0, 3.0);
}

// One begins 1 us later. The other has the link for as long, 1e4 bytes that would take 6 us of its 600 in turns; both
// end so much earlier at most, and neither is the fast one.
TEST(SdmaPulls, AreNotFasterForComingFirst) {
  const std::vector<double> together = ends_of({{0, 2}, {0, 3}});
  for (const std::vector<double>& ends : {ends_of({{0, 2}, {0, 3, 1_us}}), ends_of({{0, 2, 1_us}, {0, 3}})}) {
    EXPECT_NEAR(ends[0], together[0], 6.0);
    EXPECT_NEAR(ends[1], together[1], 6.0);
  }
}

// The first is alone for 10 us and reads a tenth; then each of the two gets 1e6 bytes per 600 us until the first has
// the rest, 540 us; then the second reads its last tenth by the link, 10 us.
TEST(SdmaPulls, HaveTheLinkBackWhenTheyAreAlone) {
  const std::vector<double> ends = ends_of({{0, 2}, {0, 3, 10_us}});
  EXPECT_NEAR(ends[0], 10.0 + 540.0 + 3.0, 3.0);
  EXPECT_NEAR(ends[1], 10.0 + 540.0 + 10.0 + 3.0, 3.0);
}

// Another pull from the same GPU waits for its turn: 300 us. When its turn has come nobody waits: 100 us.
TEST(SdmaPulls, FromAGpuThatOthersWaitForAreSlow) {
  CopyNode node(in_turns());
  MemoryWord turn(node.simulator(), "turn", 0);
  const auto wait_and_pull = [](CopyNode& on, MemoryWord& its_turn) -> sim::Task<> {
    const SdmaCopySpec spec{.from = 1, .to = 0, .bytes = sim::Bytes(1e6), .engine = 3, .pull = true};
    const QueueUser user;
    co_await run_sdma_copy(on.host(), on.complexes(), spec, user, &its_turn);
  };
  const auto pull_first = [](CopyNode& on, MemoryWord& turn_of_other) -> sim::Task<> {
    co_await pull(on, 2);
    EXPECT_NEAR(sim::to_microseconds(on.simulator().now()), 303.0, 1.5);
    turn_of_other.write(1);
  };
  node.simulator().spawn("a pull that waits", wait_and_pull(node, turn));
  node.simulator().spawn("a pull", pull_first(node, turn));
  node.simulator().run();
  EXPECT_NEAR(sim::to_microseconds(node.simulator().now()), 407.0, 3.0);
}

// Two copies that are queued at once stay whole: the first is known to have ended long before the second has.
TEST(SdmaCopy, CommandsOfCopiesOnOneQueueDoNotMix) {
  CopyNode node(CopyPlatform::round());
  sim::Time first{0};
  const auto timed = [](CopyNode& on, sim::Time& end) -> sim::Task<> {
    co_await run_sdma_copy(on.host(), on.complexes(), SdmaCopySpec{0, 1, sim::Bytes(1e6), {}});
    end = on.simulator().now();
  };
  sim::Time second{0};
  node.simulator().spawn("first", timed(node, first));
  node.simulator().spawn("second", timed(node, second));
  node.simulator().run();
  EXPECT_GT(second - first, 100_us);
}

// A word that another writes tells the engine when to begin.
TEST(SdmaCopy, WaitsForItsTurn) {
  CopyNode node(CopyPlatform::round());
  MemoryWord turn(node.simulator(), "turn", 0);
  node.simulator().schedule(500_us, sim::EventAction([&turn] { turn.write(1); }));
  const auto waiting = [](CopyNode& on, MemoryWord& word) -> sim::Task<> {
    const QueueUser user;
    co_await run_sdma_copy(on.host(), on.complexes(), SdmaCopySpec{0, 1, sim::Bytes(1e6), {}}, user, &word);
  };
  node.simulator().spawn("copy", waiting(node, turn));
  node.simulator().run();
  EXPECT_GT(node.simulator().now(), 600_us);
  EXPECT_LT(node.simulator().now(), 605_us);
}

// pcie_host_device_mi300x.csv: 56 GB/s from the device on the right engine, 48 on the wrong one, 55 to the device.
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
  const SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1_MiB, 15}, sdma, 8), "");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 1, 1_MiB, 16}, sdma, 8), "the engines of a GPU are 0 to 15, there is no 16");
  EXPECT_EQ(why_impossible(SdmaCopySpec{0, 8, 1_MiB, {}}, sdma, 8), "the GPUs of this platform are gpu0 to gpu7");
  EXPECT_EQ(why_impossible(SdmaCopySpec{3, 3, 1_MiB, {}}, sdma, 8),
            "a copy engine copies between two GPUs, or between a GPU and the host");
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

}  // namespace
}  // namespace c3sim::models
