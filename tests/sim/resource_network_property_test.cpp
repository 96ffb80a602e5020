// Whole runs of random transfers over random networks, beside an event-by-event model and the invariants that hold for
// any run.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/sim/network_fixture.h"
#include "tests/sim/slow_fair_share.h"

namespace c3sim {
namespace {

using sim::ActivitySpec;
using sim::Time;
using sim::testing::World;
using namespace std::chrono_literals;

// A run of random transfers over random resources, some starting late.
struct Scenario {
  std::vector<double> capacities;
  struct Transfer {
    ActivitySpec spec;
    Time start;
  };
  std::vector<Transfer> transfers;
};

// Up to 6 resources and 14 transfers. Values come from a few round ones half of the time, so that ends coincide and
// classes have several members; times are about a second.
Scenario random_scenario(std::uint32_t seed) {
  std::mt19937 draw(seed);
  const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw()) % limit; };
  const auto value = [&] { return below(2) == 0 ? 1.0 + below(3) : std::exp2(below(4000) / 800.0 - 2.0); };
  Scenario run;
  run.capacities.resize(1 + below(6));
  for (double& capacity : run.capacities) capacity = 5.0 * value();
  run.transfers.resize(1 + below(14));
  for (Scenario::Transfer& one : run.transfers) {
    one.spec.amount = value();
    for (std::uint32_t r = 0; r < run.capacities.size(); ++r) {
      if (below(2) == 0) one.spec.usages.push_back({r, value()});
    }
    if (one.spec.usages.empty() || below(4) == 0) one.spec.cap = value();
    if (below(3) == 0) one.spec.weight = value();
    if (below(3) == 0) one.start = Time(100ms) * static_cast<int>(below(10));
  }
  return run;
}

struct Outcome {
  std::vector<Time> ended;
  std::vector<double> served;
};

Outcome simulate(const Scenario& run) {
  World world(run.capacities);
  Outcome outcome{std::vector<Time>(run.transfers.size()), {}};
  for (std::size_t i = 0; i < run.transfers.size(); ++i) {
    world.at(run.transfers[i].start, [&world, &run, &outcome, i] {
      world.network.start(run.transfers[i].spec,
                          [ended = &outcome.ended[i], simulator = &world.simulator] { *ended = simulator->now(); });
    });
  }
  world.simulator.run();
  for (std::uint32_t r = 0; r < run.capacities.size(); ++r) outcome.served.push_back(world.network.served(r));
  return outcome;
}

double seconds(Time time) { return sim::to_seconds(time).value(); }

TEST(ResourceNetwork, FullAgreesWithAnEventByEventModelOnThousandsOfRuns) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const Scenario run = random_scenario(seed);
    std::vector<slow::Flow> flows;
    for (const Scenario::Transfer& one : run.transfers) {
      slow::Flow flow{std::vector<double>(run.capacities.size(), 0.0), one.spec.weight, one.spec.cap, one.spec.amount,
                      seconds(one.start)};
      for (const sim::Usage& usage : one.spec.usages) flow.coefficients[usage.resource] = usage.coefficient;
      flows.push_back(flow);
    }
    const Outcome outcome = simulate(run);
    const std::vector<double> expected = slow::finishing_times(run.capacities, flows);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(seconds(outcome.ended[i]), expected[i], 1e-9 * expected[i]) << "transfer " << i << " of run " << seed;
    }
  }
}

RC_GTEST_PROP(ResourceNetworkProperty, NoTransferBeatsItsAmountOverItsTightestResource, ()) {
  const Scenario run = random_scenario(*rc::gen::arbitrary<std::uint32_t>());
  const Outcome outcome = simulate(run);
  for (std::size_t i = 0; i < run.transfers.size(); ++i) {
    const auto& [spec, start] = run.transfers[i];
    double fastest = spec.cap;
    for (const sim::Usage& usage : spec.usages) {
      fastest = std::min(fastest, run.capacities[usage.resource] / usage.coefficient);
    }
    RC_ASSERT(seconds(outcome.ended[i] - start) >= spec.amount / fastest * (1.0 - 1e-14));
  }
}

RC_GTEST_PROP(ResourceNetworkProperty, ResourcesServeExactlyWhatTheTransfersAmountTo, ()) {
  const Scenario run = random_scenario(*rc::gen::arbitrary<std::uint32_t>());
  const Outcome outcome = simulate(run);
  std::vector<double> expected(run.capacities.size(), 0.0);
  for (const auto& [spec, start] : run.transfers) {
    for (const sim::Usage& usage : spec.usages) expected[usage.resource] += usage.coefficient * spec.amount;
  }
  for (std::size_t r = 0; r < expected.size(); ++r) {
    RC_ASSERT(std::abs(outcome.served[r] - expected[r]) <= 1e-9 * expected[r]);
  }
}

// True of one resource, whatever the weights, caps and arrivals: at each moment no more transfers are live than with
// less bandwidth, so that each live one has a share at least as large. (Over several resources it is not: a transfer
// that ends sooner on one may let its successor take more of another.)
RC_GTEST_PROP(ResourceNetworkProperty, MoreBandwidthOfASingleResourceDelaysNoTransfer, ()) {
  Scenario run = random_scenario(*rc::gen::arbitrary<std::uint32_t>());
  run.capacities.resize(1);
  for (Scenario::Transfer& one : run.transfers) one.spec.usages = {{0, one.spec.weight}};
  const Outcome before = simulate(run);
  run.capacities[0] *= 1.0 + *rc::gen::inRange(0, 200) / 100.0;
  const Outcome after = simulate(run);
  // Each of up to 28 rounded changes may cost a picosecond.
  for (std::size_t i = 0; i < before.ended.size(); ++i) RC_ASSERT(after.ended[i] <= before.ended[i] + Time(28));
}

// True of any network: with all capacities and caps larger by a factor, and nothing arriving late, all times shrink by
// it.
RC_GTEST_PROP(ResourceNetworkProperty, MoreBandwidthEverywhereShortensEveryTransferAlike, ()) {
  Scenario run = random_scenario(*rc::gen::arbitrary<std::uint32_t>());
  for (Scenario::Transfer& one : run.transfers) one.start = Time(0);
  const Outcome before = simulate(run);
  const double factor = 1.0 + *rc::gen::inRange(0, 200) / 100.0;
  for (double& capacity : run.capacities) capacity *= factor;
  for (Scenario::Transfer& one : run.transfers) one.spec.cap *= factor;
  const Outcome after = simulate(run);
  for (std::size_t i = 0; i < before.ended.size(); ++i) {
    RC_ASSERT(std::abs(seconds(after.ended[i]) * factor - seconds(before.ended[i])) <= 1e-9 * seconds(before.ended[i]));
  }
}

RC_GTEST_PROP(ResourceNetworkProperty, RenamingResourcesAndReorderingTransfersChangesNoTime, ()) {
  const Scenario run = random_scenario(*rc::gen::arbitrary<std::uint32_t>());
  Scenario renamed = run;
  const auto resources = static_cast<std::uint32_t>(run.capacities.size());
  std::reverse(renamed.capacities.begin(), renamed.capacities.end());
  std::reverse(renamed.transfers.begin(), renamed.transfers.end());
  for (Scenario::Transfer& one : renamed.transfers) {
    for (sim::Usage& usage : one.spec.usages) usage.resource = resources - 1 - usage.resource;
  }
  const Outcome outcome = simulate(run);
  const Outcome other = simulate(renamed);
  for (std::size_t i = 0; i < outcome.ended.size(); ++i) {
    const double there = seconds(other.ended[other.ended.size() - 1 - i]);
    RC_ASSERT(std::abs(there - seconds(outcome.ended[i])) <= 1e-9 * there);
  }
}

}  // namespace
}  // namespace c3sim
