// These tests cover memories: rates, latencies, bytes, how kernels share caches, and memories that know collectives.
#include "models/machine/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/machine/resource_kind.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;

// A LoneMemory is a memory on a network of its own.
struct LoneMemory {
  explicit LoneMemory(const MemorySpec& spec = round_memory()) : memory(spec, network, "gpu0") {}
  sim::Simulator simulator;
  sim::ResourceNetwork network{simulator};
  Memory memory;
};

class MemoryTest : public ::testing::Test, protected LoneMemory {
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
};

TEST_F(MemoryTest, TheTighterOfInfinityCacheAndHbmLimitsReadsAndWrites) {
  // Reads get 0.8 and writes 0.5 of 1000 GB/s: a byte read takes 1 / 0.8 bytes of the bus, a byte written 1 / 0.5.
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.0}), 800e9);
  EXPECT_DOUBLE_EQ(rate_below_l2({0.0, 1.0, 0.0}), 500e9);
  EXPECT_NEAR(rate_below_l2({1.0, 1.0, 0.0}), 1000e9 / 3.25, 1.0);
  // The Infinity Cache alone limits what it serves, to 3000 GB/s. If a tenth of the reads reaches HBM, 0.1 / 0.8 bytes
  // of the bus per byte allow 8000 GB/s; if half does, 0.5 / 0.8 bytes of the bus per byte allow 1600.
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 1.0}), 3000e9);
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.9}), 3000e9);
  EXPECT_DOUBLE_EQ(rate_below_l2({1.0, 0.0, 0.5}), 1600e9);
}

// Each XCD has an L2 of 4000 GB/s and a port of 1000 GB/s, before the cache's 3000.
TEST_F(MemoryTest, TheL2AndThePortOfTheBusiestXcdLimitWhatAKernelLoads) {
  EXPECT_DOUBLE_EQ(rate_from_xcds(memory.evenly_spread(), 1.0, {}), 8000e9);
  EXPECT_DOUBLE_EQ(rate_from_xcds(memory.evenly_spread(), 1.0, {0.5, 0.5, 1.0}), 2000e9);
  EXPECT_DOUBLE_EQ(rate_from_xcds(1.0, 1.0, {}), 4000e9);
  EXPECT_DOUBLE_EQ(rate_from_xcds(1.0, 1.0, {1.0, 0.0, 1.0}), 1000e9);
  // One XCD has three of four workgroups: its port carries 3/4 of the bytes.
  EXPECT_DOUBLE_EQ(rate_from_xcds(0.75, 1.0, {1.0, 0.0, 1.0}), 1000e9 / 0.75);
}

// The cache of 64 MiB keeps half of it and all of it; an excess of a tenth, with e^-1 at a twentieth, leaves e^-2.
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
  MemorySpec spec = round_memory();
  spec.cache_latency = 200_ns;
  spec.hbm_latency = 300_ns;
  spec.queueing_factor = 0.0;
  LoneMemory lone(spec);
  sim::ActivitySpec read{.amount = 1e6, .in_flight = 1000.0, .latency_path = lone.memory.latency_path()};
  sim::Time end{0};
  lone.network.start(read, [&] { end = lone.simulator.now(); });
  lone.simulator.run();
  // Little's law: 1000 B per 500 ns are 2 GB/s, so 1 MB takes 500 us.
  EXPECT_NEAR(sim::to_microseconds(end), 500.0, 1e-5);
}

// Returns the rate of an activity that keeps `in_flight` bytes in flight along the path, while another activity runs at
// its cap.
double rate_beside(sim::ResourceNetwork& network, UsageList usages, double cap, double in_flight,
                   std::vector<sim::ResourceId> path) {
  sim::ActivitySpec background{.amount = 1e9, .usages = std::move(usages).take(), .cap = cap};
  network.start(background, [] {});
  sim::ActivitySpec waiter{.amount = 1e6, .in_flight = in_flight, .latency_path = std::move(path)};
  const auto id = network.start(waiter, [] {});
  return seen_at_once(network.simulator(), [&] { return network.rate(id); });
}

// With half of the bus busy, the latency is 500 ns * (1 + 0.5^2 / (1 - 0.5)) = 750 ns.
TEST(MemoryLatency, ABusyHbmSlowsWhatIsLatencyBoundThoughBandwidthIsLeft) {
  MemorySpec spec = round_memory();
  spec.hbm_latency = 500_ns;
  spec.queueing_factor = 1.0;
  LoneMemory lone(spec);
  UsageList usages;
  lone.memory.add_below_l2(usages, {1.0, 0.0, 0.0});
  const double rate = rate_beside(lone.network, std::move(usages), 400e9, 750.0, lone.memory.latency_path());
  EXPECT_NEAR(rate, 1e9, 1e3);
}

// A matrix kernel requests half of what the L2s can give, 8000 GB/s, so half of the other loads arrive during its
// bursts and wait 1 us on average: 0.5 us in addition to the 0.5 us of HBM.
TEST(MemoryLatency, LoadsWaitBehindTheBurstsOfMatrixKernels) {
  MemorySpec spec = round_memory();
  spec.hbm_latency = 500_ns;
  spec.queueing_factor = 0.0;
  spec.l2_wait = 1000_ns;
  LoneMemory lone(spec);
  UsageList usages;
  lone.memory.add_bursts(usages, lone.memory.evenly_spread(), 1.0);
  std::vector<sim::ResourceId> path = lone.memory.latency_path();
  path.push_back(lone.memory.bursts().value());
  const double rate = rate_beside(lone.network, std::move(usages), 4000e9, 1000.0, std::move(path));
  EXPECT_NEAR(rate, 1e9, 1e3);
}

RC_GTEST_PROP(MemoryConservation, EveryByteIsServedOnceAtEachLevelThatItReaches, ()) {
  const double reads = *rc::gen::inRange(0, 100);
  const double writes = *rc::gen::inRange(0, 100);
  const double hits = *rc::gen::inRange(0, 101) / 100.0;
  const double l2_bytes = reads + writes + *rc::gen::inRange(1, 100);
  MemorySpec spec = round_memory();
  spec.hbm_turnaround = 0.25;
  spec.cache_turnaround = 0.5;
  LoneMemory lone(spec);
  const Memory& memory = lone.memory;
  UsageList usages;
  memory.add_from_xcds(usages, memory.evenly_spread(), l2_bytes, {reads, writes, hits});
  sim::ActivitySpec activity{.amount = 1000.0, .usages = std::move(usages).take()};
  lone.network.start(activity, [] {});
  lone.simulator.run();
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, b); };
  RC_ASSERT(near(lone.network.served(memory.l2()), 1000.0 * l2_bytes));
  const double through_cache = reads + writes + 0.5 * std::min(reads, writes);
  RC_ASSERT(near(lone.network.served(memory.levels()[1].resource), 1000.0 * through_cache));
  const double bus = reads / 0.8 + writes / 0.5 + 0.25 * std::min(reads, writes);
  RC_ASSERT(near(lone.network.served(memory.hbm()), 1000.0 * (1.0 - hits) * bus));
}

// Returns the GB/s that a level of rate `rate` passes if `bytes` bytes take `taken` bytes' worth of it.
double passed(sim::BytesPerSecond rate, double bytes, double taken) { return rate.value() / 1e9 * bytes / taken; }

// h200x4/streams.csv gives GB/s for arrays of 12 GiB: reads, writes, a sum of two arrays into a third, and copies.
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

// cache_bandwidth_by_size_and_threads_mi300x.csv gives GB/s for sets of 100 MiB: of kernels that only read, and of
// kernels that write as much as they read.
TEST(Memory, OfAnMi300xTurnsItsInfinityCacheRoundAsMeasured) {
  const MemorySpec memory = mi300x().gpu.memory;
  const auto rate = [&](double reads, double writes) {
    return passed(memory.cache_rate, reads + writes, memory.cache_bytes(reads, writes));
  };
  EXPECT_NEAR(rate(1, 0), 5400, 270);
  EXPECT_NEAR(rate(1, 1), 4150, 210);
}

// Without an Infinity Cache there are two levels, and a load waits only for HBM.
TEST(Memory, LeavesOutALevelThatTheMachineLacks) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.cache_capacity = sim::Bytes(0.0);
  platform.gpu.memory.hbm_latency = 300_ns;
  LoneNode node(platform);
  const Memory& memory = node.gpu(0).memory();
  ASSERT_EQ(memory.levels().size(), 2u);
  EXPECT_EQ(memory.levels()[0].spec.name, "L2");
  EXPECT_EQ(memory.levels()[1].spec.name, "HBM");
  EXPECT_EQ(memory.latency(0.0), 300_ns);
  EXPECT_EQ(memory.latency_path(), std::vector{memory.hbm()});
}

// Memories that know collectives set channels apart for them, or let their requests overtake (ConCCL, section
// VII-A).

// Rates are those in GB/s of a GEMM and another tenant that only read, as fast as HBM allows. A tenant with nothing in
// flight is absent.
struct Rates {
  double gemm = 0.0;
  double collective = 0.0;
};

sim::ActivitySpec reads_of(const Memory& memory, Tenant tenant, double cache_hits = 0.0) {
  UsageList usages;
  memory.add_below_l2(usages, {1.0, 0.0, cache_hits});
  sim::ActivitySpec activity{.amount = 1e9, .usages = std::move(usages).take(), .tag = ActivityTag{0, tenant}.packed()};
  return activity;
}

Rates rates_of_readers(const PlatformSpec& platform, double gemm_in_flight, double collective_in_flight,
                       Tenant other = Tenant::sdma) {
  LoneNode node(platform);
  sim::ResourceNetwork& network = node.network();
  const Memory& memory = node.gpu(0).memory();
  const auto reader = [&](Tenant tenant, double weight) {
    sim::ActivitySpec activity = reads_of(memory, tenant);
    activity.weight = weight;
    return network.start(activity, [] {});
  };
  std::vector<sim::ResourceNetwork::ActivityId> readers{0, 0};
  if (gemm_in_flight > 0.0) readers[0] = reader(Tenant::gemm, gemm_in_flight);
  if (collective_in_flight > 0.0) {
    readers[1] = reader(other, memory.collective_weight(collective_in_flight));
  }
  return seen_at_once(node.simulator(), [&] {
    return Rates{network.rate(readers[0]) / 1e9, network.rate(readers[1]) / 1e9};
  });
}

void expect_rates(const Rates& seen, const Rates& expected, double tolerance = 1e-6) {
  EXPECT_NEAR(seen.gemm, expected.gemm, tolerance);
  EXPECT_NEAR(seen.collective, expected.collective, tolerance);
}

// HBM reads at 800 GB/s and serves in proportion to bytes in flight, 3 to 1: 600 and 200 GB/s.
TEST(MemoryPolicy, ServesInProportionToBytesInFlight) {
  expect_rates(rates_of_readers(round_platform(), 3.0, 1.0), {600.0, 200.0});
}

// Collectives own a quarter of the channels, 200 of 800 GB/s, whatever else runs and whatever is in flight; other
// tenants cannot use these channels even if they are idle.
TEST(MemoryPolicy, ChannelsSetApartAreThereForCollectivesAlone) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collective_channels = 0.25;
  for (const double gemm : {1.0, 1000.0}) {
    expect_rates(rates_of_readers(platform, gemm, 1.0), {600.0, 200.0});
  }
  EXPECT_NEAR(rates_of_readers(platform, 1.0, 0.0).gemm, 600.0, 1e-6);
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 200.0, 1e-6);
}

// A GEMM gets all it requests except a floor of a twentieth; communication gets what a threshold of 80 % leaves. Of
// 1000 GB/s of bus that reads fill to 80 %: 950 and 50; alone, 800 of 1000 on the bus, which carry 640.
TEST(MemoryPolicy, ArbitrationServesComputeFirstAndKeepsAFloor) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.arbitration = Arbitration::fixed;
  platform.gpu.memory.arbitration_threshold = 0.8;
  platform.gpu.memory.arbitration_floor = 0.05;
  expect_rates(rates_of_readers(platform, 1.0, 1000.0), {0.95 * 800.0, 0.05 * 800.0}, 1e-3);
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 0.8 * 800.0, 1.0);
  platform.gpu.memory.arbitration = Arbitration::adaptive;
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 800.0, 1.0);
}

// Reserved channels are closed to all other tenants alike, who share the rest. In a machine whose tenants do not share
// HBM, each has all of its 800 GB/s.
TEST(MemoryPolicy, OtherKernelsAreTenantsBesideGemms) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collective_channels = 0.25;
  for (const Tenant other : {Tenant::stream, Tenant::remote}) {
    expect_rates(rates_of_readers(platform, 1.0, 1.0, other), {300.0, 300.0});
    PlatformSpec without = round_platform();
    without.without.add(Mechanism::hbm);
    expect_rates(rates_of_readers(without, 1.0, 1.0, other), {800.0, 800.0});
  }
}

// The collective gets all but a thousandth of the demand of both, though it has only a thousandth in flight.
TEST(MemoryPolicy, CollectivesThatGoFirstOvertakeAGemm) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collectives_first = true;
  EXPECT_GT(rates_of_readers(platform, 1000.0, 1.0).collective, 799.0);
}

// Collectives wait for latency under load, which grows with other traffic unless collectives go first. An engine with
// 100 kB in flight over 1 us moves 100 GB/s of what the Infinity Cache holds; a GEMM that fills HBM doubles HBM's
// microsecond.
TEST(MemoryPolicy, CollectivesThatGoFirstWaitForThemselvesAlone) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_latency = sim::Time(1'000'000);
  platform.gpu.memory.queueing_factor = 1.0;
  const auto rate = [&platform] {
    LoneNode node(platform);
    const Memory& memory = node.gpu(0).memory();
    node.network().start(reads_of(memory, Tenant::gemm), [] {});
    sim::ActivitySpec copy = reads_of(memory, Tenant::sdma, 1.0);
    copy.in_flight = 1e5;
    copy.latency_path = {memory.hbm()};
    const auto engine = node.network().start(copy, [] {});
    return seen_at_once(node.simulator(), [&] { return node.network().rate(engine); });
  };
  EXPECT_LT(rate(), 1e11 / 1.9);
  platform.gpu.memory.collectives_first = true;
  EXPECT_NEAR(rate(), 1e11, 1e3);
}

using sim::operator""_GBps;

CacheSharing::Client filling(sim::BytesPerSecond l2, sim::BytesPerSecond cache) { return {l2, cache, nullptr}; }

// The L2s get 300 of 400 GB/s of fills, the Infinity Cache 10 of 100.
TEST(CacheSharing, SharesFollowTheFillsOfEachLevel) {
  CacheSharing sharing;
  const auto a = sharing.enter(filling(300.0_GBps, 10.0_GBps));
  const auto b = sharing.enter(filling(100.0_GBps, 90.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(a), 0.75);
  EXPECT_DOUBLE_EQ(sharing.l2_share(b), 0.25);
  EXPECT_DOUBLE_EQ(sharing.cache_share(a), 0.1);
  EXPECT_DOUBLE_EQ(sharing.cache_share(b), 0.9);
}

TEST(CacheSharing, WhatFillsNothingTakesNothing) {
  CacheSharing sharing;
  const auto stream = sharing.enter(filling(0.0_GBps, 0.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(stream), 1.0) << "nobody pushes it out";
  const auto kernel = sharing.enter(filling(1.0_GBps, 1.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(kernel), 1.0);
  EXPECT_DOUBLE_EQ(sharing.l2_share(stream), 0.0);
}

TEST(CacheSharing, OthersLearnOfAnArrivalAndADepartureWhenSharesHaveChanged) {
  CacheSharing sharing;
  CacheSharing::Handle resident;
  std::vector<double> seen;
  CacheSharing::Client client = filling(1.0_GBps, 1.0_GBps);
  client.on_change = [&] { seen.push_back(sharing.l2_share(resident)); };
  resident = sharing.enter(client);
  EXPECT_TRUE(seen.empty()) << "its own arrival is no news";
  const auto other = sharing.enter(filling(3.0_GBps, 3.0_GBps));
  EXPECT_EQ(seen, (std::vector<double>{0.25}));
  sharing.leave(other);
  EXPECT_EQ(seen, (std::vector<double>{0.25, 1.0}));
}

TEST(CacheSharing, ALevelThatEachHasOfItsOwnIsHeldWhole) {
  Mechanisms without;
  without.add(Mechanism::l2);
  CacheSharing sharing(without);
  const auto a = sharing.enter(filling(1.0_GBps, 1.0_GBps));
  sharing.enter(filling(3.0_GBps, 3.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(a), 1.0);
  EXPECT_DOUBLE_EQ(sharing.cache_share(a), 0.25);
}

TEST(CacheSharing, WhoHasLeftIsToldNothing) {
  CacheSharing sharing;
  int calls = 0;
  CacheSharing::Client client = filling(1.0_GBps, 1.0_GBps);
  client.on_change = [&calls] { ++calls; };
  const auto gone = sharing.enter(client);
  sharing.leave(gone);
  sharing.enter(filling(1.0_GBps, 1.0_GBps));
  EXPECT_EQ(calls, 0);
}

RC_GTEST_PROP(CacheSharing, SharesOfAllAddUpToTheCapacity, ()) {
  const auto fills = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000)));
  CacheSharing sharing;
  std::vector<CacheSharing::Handle> clients;
  for (const int fill : fills) clients.push_back(sharing.enter(filling(sim::BytesPerSecond(fill), 1.0_GBps)));
  double l2 = 0.0;
  double cache = 0.0;
  for (const auto client : clients) {
    l2 += sharing.l2_share(client);
    cache += sharing.cache_share(client);
  }
  RC_ASSERT(std::abs(l2 - 1.0) < 1e-9);
  RC_ASSERT(std::abs(cache - 1.0) < 1e-9);
}

}  // namespace
}  // namespace c3sim::models
