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

// Two flows through one resource of 12: 6 each.
TEST(FairShare, SplitsAResourceEvenlyBetweenEqualFlows) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}}}, {{{0, 1.0}}}}), (std::vector<double>{6.0, 6.0}));
}

// The linear network of Bertsekas and Gallager: links of 1, 2 and 1, one long flow over all, one short flow on each.
// Links 0 and 2 fill first, at 1/2 for each flow on them, the long one among them; link 1 leaves 2 - 1/2 to its short
// flow.
TEST(FairShare, GivesTheLongFlowOfALinearNetworkTheShareOfItsTightestLink) {
  const std::vector<double> rates =
      fair_rates({1.0, 2.0, 1.0}, {{{{0, 1.0}, {1, 1.0}, {2, 1.0}}}, {{{0, 1.0}}}, {{{1, 1.0}}}, {{{2, 1.0}}}});
  EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 1.5, 0.5}));
}

// One of three flows through 12 stops at its cap of 2; the others share 10.
TEST(FairShare, HandsWhatACapLeavesToTheOthers) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}}, 1.0, 2.0}, {{{0, 1.0}}}, {{{0, 1.0}}}}),
            (std::vector<double>{2.0, 5.0, 5.0}));
}

// Weights 1 and 3 on 12: levels are equal where 1 * l + 3 * l = 12, so l = 3.
TEST(FairShare, SharesInProportionToWeight) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}}, 1.0}, {{{0, 1.0}}, 3.0}}), (std::vector<double>{3.0, 9.0}));
}

// Progress, not consumption, is shared: with coefficients 2 and 1 on 12, 2 * x + 1 * x = 12, so x = 4 for both.
TEST(FairShare, GivesEqualProgressWhereCoefficientsDiffer) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 2.0}}}, {{{0, 1.0}}}}), (std::vector<double>{4.0, 4.0}));
}

// A copy within one memory reads and writes it: 1 + 1 units per byte, so half of 12. Alone, and beside a flow that only
// reads: 2 * x + x = 12.
TEST(FairShare, CountsAResourceListedTwiceTwice) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}, {0, 1.0}}}}), (std::vector<double>{6.0}));
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}, {0, 1.0}}}, {{{0, 1.0}}}}), (std::vector<double>{4.0, 4.0}));
}

// Three members of one class beside one of another on 12: four equal shares.
TEST(FairShare, CountsEachMemberOfAClass) {
  EXPECT_EQ(fair_rates({12.0}, {{{{0, 1.0}}, 1.0, infinity, 3.0}, {{{0, 1.0}}}}), (std::vector<double>{3.0, 3.0}));
}

TEST(FairShare, RunsAFlowWithoutResourcesAtItsCap) {
  EXPECT_EQ(fair_rates({}, {{{}, 2.0, 7.0}}), (std::vector<double>{7.0}));
}

// A chain that closes one bottleneck at a time: resource r is shared by flows r and r + 1 and has 2^r + 2^(r+1) units.
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

// A flow of weight 1e6 beside one of weight 1 on 1e6 + 1 units: level 1.
TEST(FairShare, KeepsItsAccuracyWhereWeightsLieFarApart) {
  const std::vector<double> rates = fair_rates({1e6 + 1.0}, {{{{0, 1.0}}, 1e6}, {{{0, 1.0}}}});
  EXPECT_NEAR(rates[0], 1e6, 1e-3);
  EXPECT_NEAR(rates[1], 1.0, 1e-9);
}

struct Network {
  std::vector<double> capacities;
  std::vector<Flow> flows;
};

// Up to 12 resources and 24 flows of up to 4 resources each. Capacities, caps and coefficients are drawn from a few
// values half of the time, so that ties are common.
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

// Memory left over from one network must not show in the next.
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

// What makes an allocation max-min fair (Bertsekas and Gallager, section 6.5.2): no resource carries more than its
// capacity, and each flow is at its cap or crosses a full resource on which none gets more for its weight.
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

// In one network more bandwidth may lower a single flow's rate: a flow freed elsewhere takes more here. What cannot
// fall is the smallest rate per weight, which max-min fairness makes as large as the capacities allow.
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

}  // namespace
}  // namespace c3sim
