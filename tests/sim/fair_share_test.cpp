#include "sim/fair_share.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "sim/loaded_fair_share.h"
#include "sim/loaded_latency.h"
#include "sim/resource_network.h"
#include "tests/sim/slow_fair_share.h"

namespace c3sim {
namespace {

using Usages = std::vector<sim::Usage>;

struct Flow {
  Usages usages;
  double weight = 1.0;
  double cap = infinity;
  double members = 1.0;
};

std::vector<double> fair_rates(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  std::vector<sim::FlowClass> classes;
  for (const Flow& flow : flows) classes.push_back({flow.usages, flow.weight, flow.cap, flow.members});
  std::vector<double> rates(flows.size());
  sim::FairShareSolver solver;
  solver.solve(capacities, classes, rates);
  return rates;
}

TEST(FairShare, SharesEachResourceByWeightCoefficientMembersAndCap) {
  struct Shares {
    const char* claim;
    std::vector<double> capacities;
    std::vector<Flow> flows;
    std::vector<double> rates;
  };
  const Usages one{{0, 1.0}};
  const std::vector<Shares> shares{
      {"equal flows have equal shares", {12.0}, {{one}, {one}}, {6.0, 6.0}},
      // The linear network of Bertsekas and Gallager has links of 1, 2 and 1, a long flow over all and a short flow on
      // each. Links 0 and 2 fill first, at 1/2 for each of their flows, so that link 1 leaves 2 - 1/2.
      {"the long flow of a linear network has the share of its tightest link",
       {1.0, 2.0, 1.0},
       {{{{0, 1.0}, {1, 1.0}, {2, 1.0}}}, {one}, {{{1, 1.0}}}, {{{2, 1.0}}}},
       {0.5, 0.5, 1.5, 0.5}},
      // One of three flows through 12 units stops at its cap of 2; the others share 10.
      {"what a cap leaves goes to the others", {12.0}, {{one, 1.0, 2.0}, {one}, {one}}, {2.0, 5.0, 5.0}},
      // Levels are equal where 1 * l + 3 * l = 12, so l = 3.
      {"shares are in proportion to weight", {12.0}, {{one, 1.0}, {one, 3.0}}, {3.0, 9.0}},
      // Progress, not consumption, is shared: 2 * x + 1 * x = 12, so x = 4 for both.
      {"progress is equal where coefficients differ", {12.0}, {{{{0, 2.0}}}, {one}}, {4.0, 4.0}},
      // A copy within one memory reads and writes it, 1 + 1 units per byte, and gets half of 12. Together with a flow
      // that only reads, 2 * x + x = 12.
      {"a resource that is listed twice counts twice", {12.0}, {{{{0, 1.0}, {0, 1.0}}}}, {6.0}},
      {"it counts twice beside others", {12.0}, {{{{0, 1.0}, {0, 1.0}}}, {one}}, {4.0, 4.0}},
      // Three members of one class and one of another get four equal shares.
      {"each member of a class counts", {12.0}, {{one, 1.0, infinity, 3.0}, {one}}, {3.0, 3.0}},
      {"a flow without resources runs at its cap", {}, {{{}, 2.0, 7.0}}, {7.0}}};
  for (const auto& [claim, capacities, flows, rates] : shares) EXPECT_EQ(fair_rates(capacities, flows), rates) << claim;
}

// The chain closes one bottleneck at a time. Flows r and r + 1 share resource r, which has 2^r + 2^(r+1) units.
// Resource 0 (3 units, 1.5 each) is the tightest; flow 1 then leaves 6 - 1.5 = 4.5 of resource 1 to flow 2, and so on:
// x(r+1) = 3 * 2^r - x(r).
TEST(FairShare, ClosesAChainOfBottlenecksInOrder) {
  constexpr std::uint32_t length = 20;
  std::vector<double> capacities;
  std::vector<Flow> flows(length + 1);
  for (std::uint32_t r = 0; r < length; ++r) {
    capacities.push_back(3.0 * std::exp2(r));
    flows[r].usages.push_back({r, 1.0});
    flows[r + 1].usages.push_back({r, 1.0});
  }
  const std::vector<double> rates = fair_rates(capacities, flows);
  double expected = 1.5;
  EXPECT_DOUBLE_EQ(rates[0], expected);
  for (std::uint32_t r = 0; r < length; ++r) {
    expected = 3.0 * std::exp2(r) - expected;
    EXPECT_DOUBLE_EQ(rates[r + 1], expected);
  }
}

// Flows of weights 1e6 and 1 share 1e6 + 1 units at level 1.
TEST(FairShare, KeepsItsAccuracyWhereWeightsLieFarApart) {
  const std::vector<double> rates = fair_rates({1e6 + 1.0}, {{{{0, 1.0}}, 1e6}, {{{0, 1.0}}}});
  EXPECT_NEAR(rates[0], 1e6, 1e-3);
  EXPECT_NEAR(rates[1], 1.0, 1e-9);
}

struct Network {
  std::vector<double> capacities;
  std::vector<Flow> flows;
};

// Draws up to 12 resources and 24 flows of up to 4 resources each. Half of the capacities, caps and coefficients come
// from a few values, so that ties are common.
Network random_network(std::uint32_t seed) {
  std::mt19937 draw(seed);
  const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw()) % limit; };
  const auto value = [&] { return below(2) == 0 ? 1.0 + below(4) : std::exp2(below(4000) / 400.0 - 5.0); };
  Network network;
  network.capacities.resize(1 + below(12));
  for (double& capacity : network.capacities) capacity = 10.0 * value();
  network.flows.resize(1 + below(24));
  for (Flow& flow : network.flows) {
    std::vector<std::uint32_t> resources(network.capacities.size());
    std::iota(resources.begin(), resources.end(), 0u);
    std::shuffle(resources.begin(), resources.end(), draw);
    resources.resize(std::min<std::size_t>(resources.size(), 1 + below(4)));
    for (const std::uint32_t resource : resources) flow.usages.push_back({resource, value()});
    flow.weight = value();
    if (below(3) == 0) flow.cap = value();
    flow.members = 1.0 + below(3);
  }
  return network;
}

std::vector<double> slow_rates(const Network& network) {
  std::vector<slow::Flow> flows;
  std::vector<std::size_t> first_member;
  for (const Flow& flow : network.flows) {
    first_member.push_back(flows.size());
    slow::Flow member{std::vector<double>(network.capacities.size(), 0.0), flow.weight, flow.cap, 0.0, 0.0};
    for (const sim::Usage& usage : flow.usages) member.coefficients[usage.resource] += usage.coefficient;
    flows.insert(flows.end(), static_cast<std::size_t>(flow.members), member);
  }
  const std::vector<double> member_rates = slow::fair_rates(network.capacities, flows);
  std::vector<double> rates;
  for (const std::size_t member : first_member) rates.push_back(member_rates[member]);
  return rates;
}

TEST(FairShare, FullAgreesWithTextbookFillingOnThousandsOfNetworks) {
  for (std::uint32_t seed = 0; seed < 5000; ++seed) {
    const Network network = random_network(seed);
    const std::vector<double> rates = fair_rates(network.capacities, network.flows);
    const std::vector<double> expected = slow_rates(network);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      ASSERT_NEAR(rates[i], expected[i], 1e-9 * expected[i]) << "flow " << i << " of network " << seed;
    }
  }
}

// The memory that one network leaves in the solver must not affect the next network.
TEST(FairShare, ForgetsTheNetworksItSolvedBefore) {
  sim::FairShareSolver reused;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Network network = random_network(seed);
    std::vector<sim::FlowClass> classes;
    for (const Flow& flow : network.flows) classes.push_back({flow.usages, flow.weight, flow.cap, flow.members});
    std::vector<double> rates(classes.size());
    reused.solve(network.capacities, classes, rates);
    ASSERT_EQ(rates, fair_rates(network.capacities, network.flows)) << "network " << seed;
  }
}

// An allocation is max-min fair (Bertsekas and Gallager, section 6.5.2) if no resource carries more than its capacity
// and each flow is at its cap or crosses a full resource on which no flow gets more for its weight.
RC_GTEST_PROP(FairShareProperty, EveryFlowIsAtItsCapOrHasABottleneck, ()) {
  const Network network = random_network(*rc::gen::arbitrary<std::uint32_t>());
  const std::vector<double> rates = fair_rates(network.capacities, network.flows);
  std::vector<double> load(network.capacities.size(), 0.0);
  std::vector<double> highest(network.capacities.size(), 0.0);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (const sim::Usage& usage : network.flows[i].usages) {
      load[usage.resource] += usage.coefficient * network.flows[i].members * rates[i];
      highest[usage.resource] = std::max(highest[usage.resource], rates[i] / network.flows[i].weight);
    }
  }
  for (std::size_t r = 0; r < load.size(); ++r) RC_ASSERT(load[r] <= network.capacities[r] * (1.0 + 1e-12));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Flow& flow = network.flows[i];
    bool held = rates[i] >= flow.cap * (1.0 - 1e-12);
    for (const sim::Usage& usage : flow.usages) {
      const std::uint32_t r = usage.resource;
      held |= load[r] >= network.capacities[r] * (1.0 - 1e-9) && rates[i] / flow.weight >= highest[r] * (1.0 - 1e-9);
    }
    RC_ASSERT(held);
  }
}

RC_GTEST_PROP(FairShareProperty, RenamingResourcesAndReorderingFlowsRenamesAndReordersTheRates, ()) {
  const std::uint32_t seed = *rc::gen::arbitrary<std::uint32_t>();
  const Network network = random_network(seed);
  std::mt19937 draw(seed + 1);
  std::vector<std::uint32_t> new_resource(network.capacities.size());
  std::vector<std::size_t> new_flow(network.flows.size());
  std::iota(new_resource.begin(), new_resource.end(), 0u);
  std::iota(new_flow.begin(), new_flow.end(), std::size_t{0});
  std::shuffle(new_resource.begin(), new_resource.end(), draw);
  std::shuffle(new_flow.begin(), new_flow.end(), draw);

  Network renamed = network;
  for (std::size_t r = 0; r < new_resource.size(); ++r) renamed.capacities[new_resource[r]] = network.capacities[r];
  for (std::size_t i = 0; i < new_flow.size(); ++i) {
    Flow flow = network.flows[i];
    for (sim::Usage& usage : flow.usages) usage.resource = new_resource[usage.resource];
    std::reverse(flow.usages.begin(), flow.usages.end());
    renamed.flows[new_flow[i]] = flow;
  }
  const std::vector<double> rates = fair_rates(network.capacities, network.flows);
  const std::vector<double> renamed_rates = fair_rates(renamed.capacities, renamed.flows);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    RC_ASSERT(std::abs(renamed_rates[new_flow[i]] - rates[i]) <= 1e-9 * rates[i]);
  }
}

// In one network more bandwidth may lower a single flow's rate: a flow freed elsewhere takes more here. The smallest
// rate per weight cannot fall, because max-min fairness makes it as large as the capacities allow.
RC_GTEST_PROP(FairShareProperty, MoreCapacityNeverLowersTheSmallestRatePerWeight, ()) {
  Network network = random_network(*rc::gen::arbitrary<std::uint32_t>());
  const auto smallest = [&network] {
    const std::vector<double> rates = fair_rates(network.capacities, network.flows);
    double least = infinity;
    for (std::size_t i = 0; i < rates.size(); ++i) least = std::min(least, rates[i] / network.flows[i].weight);
    return least;
  };
  const double before = smallest();
  const std::size_t widened = *rc::gen::inRange<std::size_t>(0, network.capacities.size());
  network.capacities[widened] *= 1.5;
  RC_ASSERT(smallest() >= before * (1.0 - 1e-12));
}

using sim::ActivitySpec;
using sim::LoadedLatency;
using sim::ResourceNetwork;
using sim::Simulator;
using sim::Time;
using namespace std::chrono_literals;

// The latency is 1 s unloaded and 1 / (1 - u) s under load, as in an M/M/1 queue: 1 + u / (1 - u) = 1 / (1 - u).
constexpr LoadedLatency mm1{Time(1s), 1.0, 1.0, 0.95};

// At half load the latency is 1 + 3 * 0.25 / 0.5 = 2.5. At full load the queue is cut off: 1 + 3 * 1 / 0.05 = 61.
TEST(LoadedLatency, GrowsWithLoadToAFiniteLimit) {
  const LoadedLatency latency{Time(100ns), 3.0, 2.0, 0.95};
  EXPECT_DOUBLE_EQ(latency.at(0.0).value(), 100e-9);
  EXPECT_DOUBLE_EQ(latency.at(0.5).value(), 250e-9);
  EXPECT_NEAR(latency.at(1.0).value(), 6100e-9, 1e-15);
  for (int percent = 0; percent < 100; ++percent) {
    EXPECT_LT(latency.at(percent / 100.0).value(), latency.at((percent + 1) / 100.0).value());
  }
}

// A Memory is one resource whose activities never end; tests look at rates after all have started.
struct Memory {
  Simulator simulator;
  ResourceNetwork network{simulator};

  explicit Memory(double capacity, LoadedLatency latency = mm1) { network.add_resource({"memory", capacity, latency}); }
  ResourceNetwork::ActivityId start(double in_flight, double cap = infinity, Time fixed_latency = Time(0)) {
    ActivitySpec spec{
        .amount = 1e300, .usages = {{0, 1.0}}, .cap = cap, .in_flight = in_flight, .fixed_latency = fixed_latency};
    if (in_flight > 0.0) spec.latency_path = {0};
    return network.start(spec, {});
  }
  // Returns the rate of `activity` after all started activities share the memory.
  double rate(ResourceNetwork::ActivityId activity) {
    struct Stop {};
    simulator.schedule(simulator.now() + 1ns, [] { throw Stop(); });
    EXPECT_THROW(simulator.run(), Stop);
    EXPECT_EQ(network.effort().unconverged, 0u);
    return network.rate(activity);
  }
};

// 6 units in flight over 2 s of fixed and 1 s of load-independent latency make 2 units per second.
TEST(LatencyLimit, IsInFlightOverLatency) {
  Memory memory(100.0, {Time(1s), 0.0, 2.0, 0.95});
  EXPECT_DOUBLE_EQ(memory.rate(memory.start(6.0, infinity, 2s)), 2.0);
  EXPECT_EQ(memory.network.effort().solves, 1u);
}

// Pulses of traffic start and end beside a lasting activity, so that the network returns to two states.
TEST(LatencyLimit, IsNotSearchedForAgainWhereAllIsAsItWas) {
  Memory memory(1.0);
  const ResourceNetwork::ActivityId steady = memory.start(1.0);
  const double alone = memory.rate(steady);
  double beside = 0.0;
  constexpr int pulses = 50;
  for (int pulse = 0; pulse < pulses; ++pulse) {
    ActivitySpec spec{.amount = 1.0, .usages = {{0, 1.0}}, .cap = 0.25};
    struct Ended {};
    memory.network.start(spec, [] { throw Ended(); });
    const double now = memory.rate(steady);
    if (pulse == 0) beside = now;
    EXPECT_NEAR(now, beside, 1e-5 * beside) << "found again, or searched for from nearby";
    EXPECT_THROW(memory.simulator.run(), Ended);
    EXPECT_NEAR(memory.rate(steady), alone, 1e-5 * alone);
  }
  EXPECT_LT(beside, alone);
  EXPECT_GT(memory.network.effort().recalled, static_cast<std::uint64_t>(pulses));
}

// With latency 1 / (1 - x / c), x = b / latency gives x = b * (1 - x / c), so x = b / (1 + b / c): 1/2 for b = c = 1.
TEST(LatencyLimit, MeetsTheLatencyThatItsOwnLoadCauses) {
  Memory memory(1.0);
  const auto id = memory.start(1.0);
  EXPECT_NEAR(memory.rate(id), 0.5, 1e-6);
  EXPECT_NEAR(memory.network.latency(0).value(), 2.0, 1e-5);
  EXPECT_EQ(memory.network.limit(id).kind, sim::RateLimit::Kind::latency);
}

// Equal activities act as one with n times as much in flight: they share b = n / (1 + n).
TEST(LatencyLimit, IsSharedByEqualActivities) {
  Memory memory(1.0);
  const auto id = memory.start(1.0);
  for (int n = 1; n < 4; ++n) memory.start(1.0);
  EXPECT_NEAR(memory.rate(id), 0.2, 1e-6);
}

// A stream at 0.5 of 1 leaves as much bandwidth as the copy alone would use, yet it slows the copy: x = 1 * (1 - 0.5 -
// x), so x = 0.25.
TEST(LatencyLimit, LetsABusyMemorySlowACopyThoughBandwidthIsLeft) {
  Memory memory(1.0);
  const auto copy = memory.start(1.0);
  memory.start(0.0, 0.5);
  EXPECT_NEAR(memory.rate(copy), 0.25, 1e-6);
  EXPECT_NEAR(memory.network.utilisation(0), 0.75, 1e-6);
}

// The resource has 1 unit/s. Once it is full, requests wait for what is in flight there and for nothing else.
LoadedLatency first_come_first_served() {
  LoadedLatency latency{Time(1s), 0.0};
  latency.backlog = true;
  return latency;
}

// The hog has 10 in flight over 1 s, the copy 1. Together they get 1: 10 / (1 + Q) + 1 / (1 + Q) = 1, so that Q = 10.
// The copy gets 1 of 11, its share of what is in flight.
TEST(Backlog, IsWhatOthersKeepUnderWayOverTheRateOfTheResource) {
  Memory memory(1.0, first_come_first_served());
  const auto copy = memory.start(1.0);
  EXPECT_DOUBLE_EQ(memory.rate(copy), 1.0);
  const auto hog = memory.start(10.0);
  EXPECT_NEAR(memory.rate(copy), 1.0 / 11.0, 1e-6);
  EXPECT_NEAR(memory.rate(hog), 10.0 / 11.0, 1e-6);
  EXPECT_EQ(memory.network.limit(hog).kind, sim::RateLimit::Kind::resource) << "it makes the queue";
  EXPECT_EQ(memory.network.limit(copy).kind, sim::RateLimit::Kind::latency) << "it waits in it";
}

// A loop of 9 s elsewhere and 1 s here with 1 in flight asks for a tenth. It gets less although a tenth is free: with
// 180 / 19 in flight from others, Q is 9: 180 / 19 / (1 + 9) + 1 / (10 + 9) = 1.
TEST(Backlog, DelaysWhoAsksForLessThanItsShare) {
  Memory memory(1.0, first_come_first_served());
  const auto loop = memory.start(1.0, infinity, 9s);
  memory.start(180.0 / 19.0);
  EXPECT_NEAR(memory.rate(loop), 1.0 / 19.0, 1e-6);
}

// Traffic that does not fill the resource delays nobody.
TEST(Backlog, IsNoneBelowTheFullRate) {
  Memory memory(1.0, first_come_first_served());
  const auto loop = memory.start(0.5, infinity, 4s);
  memory.start(0.8);
  EXPECT_NEAR(memory.rate(loop), 0.1, 1e-9);
}

// A greedy stream fills the memory: the latency is 1 + 1 / (1 - 0.95) = 21, and the copy gets 1 / 21.
TEST(LatencyLimit, IsAtItsLeastBesideAStreamThatFillsTheMemory) {
  Memory memory(1.0);
  const auto copy = memory.start(1.0);
  const auto stream = memory.start(0.0);
  EXPECT_NEAR(memory.rate(copy), 1.0 / 21.0, 1e-9);
  EXPECT_NEAR(memory.network.rate(stream), 20.0 / 21.0, 1e-9);
}

// With this much in flight only the fair share limits: each of two activities gets 1/2, without a search.
TEST(LatencyLimit, CostsNothingWhereItHoldsNobodyBack) {
  Memory memory(1.0);
  const auto copy = memory.start(100.0);
  memory.start(0.0);
  EXPECT_DOUBLE_EQ(memory.rate(copy), 0.5);
  EXPECT_LE(memory.network.effort().solves, 2u);
}

// A thread polls a memory that others fill, without loading it: 1 in flight over 21 s.
TEST(LatencyLimit, FollowsTheLoadOfAResourceThatIsOnlyOnItsPath) {
  Memory memory(1.0);
  memory.start(0.0);
  ActivitySpec poll{.amount = 1e300, .in_flight = 1.0, .latency_path = {0}};
  const auto id = memory.network.start(poll, {});
  EXPECT_NEAR(memory.rate(id), 1.0 / 21.0, 1e-9);
}

// Loads range from a tenth of saturation to far beyond it, also with a steep curve.
TEST(LatencyLimit, GrowsWithBandwidthAndFallsWithTheLoadOfOthers) {
  for (const double factor : {0.1, 1.0, 10.0}) {
    const LoadedLatency steep{Time(1s), factor, 2.0, 0.95};
    double last = 0.0;
    for (int tenths = 1; tenths <= 100; ++tenths) {
      Memory memory(tenths / 10.0, steep);
      const double rate = memory.rate(memory.start(1.0));
      EXPECT_GE(rate, last * (1.0 - 1e-6)) << "at capacity " << tenths / 10.0;
      last = rate;
    }
    for (int percent = 1; percent <= 99; ++percent) {
      Memory memory(1.0, steep);
      const auto copy = memory.start(1.0);
      memory.start(0.0, percent / 100.0);
      const double rate = memory.rate(copy);
      EXPECT_LE(rate, last * (1.0 + 1e-6)) << "beside a load of " << percent << " %";
      last = rate;
    }
  }
}

// A mesh of links joins eight memories with loaded latencies. Copies have about as much in flight as fills a link, and
// kernels stream through the memories. Every start and end changes all latencies.
TEST(LatencyLimit, ConvergesInAMeshOfBusyMemories) {
  Simulator simulator;
  ResourceNetwork network(simulator);
  constexpr std::uint32_t hosts = 8;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    network.add_resource({"memory", 4e12, {Time(700ns), 1.0, 2.0, 0.95}});
  }
  for (std::uint32_t link = 0; link < hosts * hosts; ++link) {
    network.add_resource({"link", 48e9, {Time(300ns), 0.5, 2.0, 0.95}});
  }
  std::mt19937 draw(1);
  const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw()) % limit; };
  for (int i = 0; i < 300; ++i) {
    ActivitySpec copy;
    const std::uint32_t from = below(hosts);
    const std::uint32_t to = (from + 1 + below(hosts - 1)) % hosts;
    copy.amount = 1e6 + below(1'000'000);
    copy.usages = {{hosts + from * hosts + to, 1.0}, {from, 1.0}, {to, 1.0}};
    copy.in_flight = 32768.0 * (1 + below(4));
    copy.fixed_latency = Time(500ns);
    copy.latency_path = {from, hosts + from * hosts + to, to};
    network.start(copy, {});
    if (i % 10 > 0) continue;
    ActivitySpec kernel{.amount = 1e8 + below(1'000'000'000), .usages = {{below(hosts), 1.0}}};
    if (below(2) == 0) kernel.cap = 2.5e12;
    network.start(kernel, {});
  }
  simulator.run();
  EXPECT_EQ(network.effort().unconverged, 0u);
  EXPECT_LE(network.effort().solves, 15 * network.effort().parts);
}

// Copies and kernels run between memories with backlogs; random values are each spread over a factor of 16.
TEST(Backlog, IsFoundInRandomNetworks) {
  int unconverged = 0;
  constexpr int networks = 1000;
  for (std::uint32_t seed = 0; seed < networks; ++seed) {
    std::mt19937 draw(seed);
    const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw()) % limit; };
    const auto value = [&] { return std::exp2(below(4000) / 1000.0 - 2.0); };
    Simulator simulator;
    ResourceNetwork network(simulator);
    const std::uint32_t resources = 1 + below(4);
    LoadedLatency latency{Time(500ns), 0.08, 2.0, 0.95};
    latency.backlog = true;
    for (std::uint32_t r = 0; r < resources; ++r) network.add_resource({"r", 100e9 * value(), latency});
    for (std::uint32_t i = 0, count = 1 + below(8); i < count; ++i) {
      ActivitySpec spec;
      spec.amount = 1e6;
      for (std::uint32_t r = 0; r < resources; ++r) {
        if (spec.usages.empty() || below(3) == 0) spec.usages.push_back({r, value()});
      }
      if (below(4) > 0) {
        spec.in_flight = 70e3 * value();
        spec.weight = spec.in_flight;
        spec.fixed_latency = Time(200ns);
        for (const sim::Usage& usage : spec.usages) spec.latency_path.push_back(usage.resource);
      } else {
        spec.weight = 70e3;
      }
      network.start(spec, {});
    }
    network.add_observer([&](Time, Time) {
      for (std::uint32_t r = 0; r < resources; ++r) EXPECT_LE(network.load(r), network.capacity(r) * (1.0 + 1e-9));
    });
    simulator.run();
    unconverged += network.effort().unconverged > 0 ? 1 : 0;
  }
  EXPECT_LE(unconverged, networks / 500) << "where two memories hold the same work back in turn";
}

// No machine has such networks: capacities, latencies and amounts in flight each spread over a factor of 16, and most
// resources are nearly full. Even there every search ends, and each limit in force is the one its load causes.
TEST(LatencyLimit, ConvergesInRandomNetworks) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 draw(seed);
    const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw()) % limit; };
    const auto value = [&] { return std::exp2(below(4000) / 1000.0 - 2.0); };
    Simulator simulator;
    ResourceNetwork network(simulator);
    const std::uint32_t resources = 1 + below(6);
    for (std::uint32_t r = 0; r < resources; ++r) {
      network.add_resource({"r", 100e9 * value(), {Time(500ns), 0.2 * value(), 2.0, 0.95}});
    }
    std::vector<ActivitySpec> specs(1 + below(12));
    std::vector<ResourceNetwork::ActivityId> ids;
    for (ActivitySpec& spec : specs) {
      spec.amount = 1e6;
      for (std::uint32_t r = 0; r < resources; ++r) {
        if (spec.usages.empty() || below(3) == 0) spec.usages.push_back({r, value()});
      }
      if (below(3) > 0) {
        spec.in_flight = 70e3 * value();
        spec.fixed_latency = Time(200ns);
        for (const sim::Usage& usage : spec.usages) spec.latency_path.push_back(usage.resource);
      }
      ids.push_back(network.start(spec, {}));
    }
    network.add_observer([&](Time, Time) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!network.live(ids[i]) || specs[i].in_flight == 0.0) continue;
        double latency = 200e-9;
        for (const std::uint32_t resource : specs[i].latency_path) latency += network.latency(resource).value();
        const double limit = specs[i].in_flight / latency;
        const bool held = network.limit(ids[i]).kind == sim::RateLimit::Kind::latency;
        EXPECT_LE(network.rate(ids[i]), limit * (1.0 + 1e-6));
        if (held) {
          EXPECT_NEAR(network.rate(ids[i]), limit, 1e-6 * limit);
        }
      }
    });
    simulator.run();
    EXPECT_EQ(network.effort().unconverged, 0u) << "network " << seed;
  }
}

}  // namespace
}  // namespace c3sim
