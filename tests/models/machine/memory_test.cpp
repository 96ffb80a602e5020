#include "models/machine/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;

class MemoryTest : public ::testing::Test {
 protected:
  double rate_below_l2(Traffic traffic) {
    UsageList usages;
    memory.add_below_l2(usages, traffic);
    return rate_alone(network, std::move(usages));
  }
  double rate_from_xcds(double busiest_share, double l2_bytes, Traffic beyond) {
    UsageList usages;
    memory.add_from_xcds(usages, busiest_share, l2_bytes, beyond);
    return rate_alone(network, std::move(usages));
  }

  sim::Simulator simulator;
  sim::ResourceNetwork network{simulator};
  Memory memory{round_memory(), network, "gpu0"};
};

// 0.8 and 0.5 of 1000 GB/s.
TEST_F(MemoryTest, ReadsAndWritesReachTheirOwnShareOfTheHbmPeak) {
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.0}), 800e9);
  EXPECT_DOUBLE_EQ(rate_below_l2({0.0, 1.0, 0.0}), 500e9);
}

// A byte read takes 1 / 0.8 bytes of the bus, a byte written 1 / 0.5: 3.25 for one of each.
TEST_F(MemoryTest, ReadsAndWritesShareTheBus) { EXPECT_NEAR(rate_below_l2({1.0, 1.0, 0.0}), 1000e9 / 3.25, 1.0); }

TEST_F(MemoryTest, WhatTheInfinityCacheServesIsLimitedByItAlone) {
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 1.0}), 3000e9);
}

// A tenth of the reads reaches HBM: 0.1 / 0.8 bytes of its bus each would allow 8000 GB/s, the cache gives 3000. Of a
// half, 0.5 / 0.8 bytes of the bus allow 1600.
TEST_F(MemoryTest, TheTighterOfInfinityCacheAndHbmLimitsAMixture) {
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.9}), 3000e9);
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.5}), 1600e9);
}

// Two L2s of 4000 GB/s.
TEST_F(MemoryTest, WhatTheL2sServeIsLimitedByThemAlone) {
  EXPECT_DOUBLE_EQ(rate_from_xcds(memory.evenly_spread(), 1.0, {}), 8000e9);
}

// Two ports of 1000 GB/s, before the cache's 3000.
TEST_F(MemoryTest, PortsLimitWhatLeavesTheL2s) {
  EXPECT_DOUBLE_EQ(rate_from_xcds(memory.evenly_spread(), 1.0, {0.5, 0.5, 1.0}), 2000e9);
}

TEST_F(MemoryTest, AKernelOnOneXcdHasOneL2AndOnePort) {
  EXPECT_DOUBLE_EQ(rate_from_xcds(1.0, 1.0, {}), 4000e9);
  EXPECT_DOUBLE_EQ(rate_from_xcds(1.0, 1.0, {1.0, 0.0, 1.0}), 1000e9);
}

// Three of four workgroups on one XCD: its port, 1000 GB/s, carries 3/4 of the bytes.
TEST_F(MemoryTest, TheBusiestXcdLimitsAnUnevenKernel) {
  EXPECT_DOUBLE_EQ(rate_from_xcds(0.75, 1.0, {1.0, 0.0, 1.0}), 1000e9 / 0.75);
}

// 64 MiB in all: half of it, all of it, and an excess of a tenth where e^-1 is found at a twentieth.
TEST(MemorySpec, HoldsOfATurnWhatFitsAndLittleOfWhatDoesNot) {
  MemorySpec spec = round_memory();
  spec.cache_overflow = 0.05;
  EXPECT_DOUBLE_EQ(spec.held_of_turn(0.5 * spec.cache_capacity), 1.0);
  EXPECT_DOUBLE_EQ(spec.held_of_turn(spec.cache_capacity), 1.0);
  EXPECT_NEAR(spec.held_of_turn(1.1 * spec.cache_capacity), std::exp(-2.0), 1e-9);
  EXPECT_NEAR(spec.held_of_turn(spec.cache_capacity, 0.95), std::exp(-1.0), 1e-9) << "others hold a twentieth";
  spec.cache_overflow = 0.0;
  EXPECT_DOUBLE_EQ(spec.held_of_turn(1.01 * spec.cache_capacity), 0.0);
  spec.cache_capacity = sim::Bytes(0.0);
  EXPECT_DOUBLE_EQ(spec.held_of_turn(sim::Bytes(1.0)), 0.0) << "there is no such cache";
}

TEST(MemoryLatency, UnloadedIsThatOfInfinityCacheAndHbmTogether) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  MemorySpec spec = round_memory();
  spec.cache_latency = 200_ns;
  spec.hbm_latency = 300_ns;
  spec.queueing_factor = 0.0;
  const Memory memory(spec, network, "gpu0");
  sim::ActivitySpec read;
  read.amount = 1e6;
  read.in_flight = 1000.0;
  read.latency_path = memory.latency_path();
  sim::Time end{0};
  network.start(read, [&] { end = simulator.now(); });
  simulator.run();
  // Little's law: 1000 B per 500 ns are 2 GB/s, so 1 MB takes 500 us.
  EXPECT_NEAR(sim::to_microseconds(end), 500.0, 1e-5);
}

// The rate of what keeps so many bytes under way along the path, beside something else that goes at the rate that it is
// capped at.
double rate_beside(sim::Simulator& simulator, sim::ResourceNetwork& network, UsageList usages, double cap,
                   double in_flight, std::vector<sim::ResourceId> path) {
  sim::ActivitySpec background;
  background.amount = 1e9;
  background.usages = std::move(usages).take();
  background.cap = cap;
  network.start(background, [] {});
  sim::ActivitySpec waiter;
  waiter.amount = 1e6;
  waiter.in_flight = in_flight;
  waiter.latency_path = std::move(path);
  const auto id = network.start(waiter, [] {});
  double rate = 0.0;
  const auto look = [&] { rate = network.rate(id); };
  simulator.schedule(sim::Time(1), [&look] { look(); });
  simulator.run();
  return rate;
}

// Half of the bus is busy: the latency is 500 ns * (1 + 0.5^2 / (1 - 0.5)) = 750 ns.
TEST(MemoryLatency, ABusyHbmSlowsWhatIsLatencyBoundThoughBandwidthIsLeft) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  MemorySpec spec = round_memory();
  spec.hbm_latency = 500_ns;
  spec.queueing_factor = 1.0;
  const Memory memory(spec, network, "gpu0");
  UsageList usages;
  memory.add_below_l2(usages, {1.0, 0.0, 0.0});
  const double rate = rate_beside(simulator, network, std::move(usages), 400e9, 750.0, memory.latency_path());
  EXPECT_NEAR(rate, 1e9, 1e3);
}

// A matrix kernel asks half of what the L2s can give, 8000 GB/s, so half of the loads of others come while its bursts
// are served, and wait 1 us in the mean of those: 0.5 us beside the 0.5 us of HBM.
TEST(MemoryLatency, LoadsWaitBehindTheBurstsOfMatrixKernels) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  MemorySpec spec = round_memory();
  spec.hbm_latency = 500_ns;
  spec.queueing_factor = 0.0;
  spec.l2_wait = 1000_ns;
  const Memory memory(spec, network, "gpu0");
  UsageList usages;
  memory.add_bursts(usages, memory.evenly_spread(), 1.0);
  std::vector<sim::ResourceId> path = memory.latency_path();
  path.push_back(memory.bursts().value());
  const double rate = rate_beside(simulator, network, std::move(usages), 4000e9, 1000.0, std::move(path));
  EXPECT_NEAR(rate, 1e9, 1e3);
}

RC_GTEST_PROP(MemoryConservation, EveryByteIsServedOnceAtEachLevelThatItReaches, ()) {
  const double reads = *rc::gen::inRange(0, 100);
  const double writes = *rc::gen::inRange(0, 100);
  const double hits = *rc::gen::inRange(0, 101) / 100.0;
  const double l2_bytes = reads + writes + *rc::gen::inRange(1, 100);
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  MemorySpec spec = round_memory();
  spec.hbm_turnaround = 0.25;
  spec.cache_turnaround = 0.5;
  const Memory memory(spec, network, "gpu0");
  UsageList usages;
  memory.add_from_xcds(usages, memory.evenly_spread(), l2_bytes, {reads, writes, hits});
  sim::ActivitySpec activity;
  activity.amount = 1000.0;
  activity.usages = std::move(usages).take();
  network.start(activity, [] {});
  simulator.run();
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, b); };
  RC_ASSERT(near(network.served(memory.l2()), 1000.0 * l2_bytes));
  const double through_cache = reads + writes + 0.5 * std::min(reads, writes);
  RC_ASSERT(near(network.served(memory.levels()[1].resource), 1000.0 * through_cache));
  const double bus = reads / 0.8 + writes / 0.5 + 0.25 * std::min(reads, writes);
  RC_ASSERT(near(network.served(memory.hbm()), 1000.0 * (1.0 - hits) * bus));
}

// What a level of so much a second lets pass, in GB/s, that takes `taken` bytes' worth of it for so many.
double passed(sim::BytesPerSecond rate, double bytes, double taken) { return rate.value() / 1e9 * bytes / taken; }

// h200x4/streams.csv, arrays of 12 GiB: GB/s of what reads, writes, adds two arrays into a third, and copies.
TEST(Memory, OfAnH200TurnsItsBusRoundAsMeasured) {
  const MemorySpec memory = h200().gpu.memory;
  const auto rate = [&](double reads, double writes) {
    return passed(memory.hbm_rate, reads + writes, memory.bus_bytes(reads, writes));
  };
  EXPECT_NEAR(rate(1, 0), 4475, 45);
  EXPECT_NEAR(rate(0, 1), 4237, 85);
  EXPECT_NEAR(rate(2, 1), 4148, 41);
  EXPECT_NEAR(rate(1, 1), 3940, 79);
}

// cache_bandwidth_by_size_and_threads_mi300x.csv, sets of 100 MiB: GB/s of what reads, and of what writes as much as it
// reads.
TEST(Memory, OfAnMi300xTurnsItsInfinityCacheRoundAsMeasured) {
  const MemorySpec memory = mi300x().gpu.memory;
  const auto rate = [&](double reads, double writes) {
    return passed(memory.cache_rate, reads + writes, memory.cache_bytes(reads, writes));
  };
  EXPECT_NEAR(rate(1, 0), 5400, 270);
  EXPECT_NEAR(rate(1, 1), 4150, 210);
}

// Without an Infinity Cache there are two levels, and a load waits for HBM alone.
TEST(Memory, LeavesOutALevelThatTheMachineLacks) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.cache_capacity = sim::Bytes(0.0);
  platform.gpu.memory.hbm_latency = 300_ns;
  sim::Simulator simulator;
  Node node(simulator, platform);
  const Memory& memory = node.gpu(0).memory();
  ASSERT_EQ(memory.levels().size(), 2u);
  EXPECT_EQ(memory.levels()[0].spec.name, "L2");
  EXPECT_EQ(memory.levels()[1].spec.name, "HBM");
  EXPECT_EQ(memory.latency(0.0), 300_ns);
  EXPECT_EQ(memory.latency_path(), std::vector{memory.hbm()});
}

}  // namespace
}  // namespace c3sim::models
