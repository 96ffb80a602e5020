#include "sim/resource_network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "tests/sim/network_fixture.h"
#include "tests/sim/slow_fair_share.h"

namespace c3sim {
namespace {

using sim::ActivitySpec;
using sim::RateLimit;
using sim::ResourceNetwork;
using sim::Time;
using sim::testing::transfer;
using sim::testing::World;
using namespace std::chrono_literals;

using Change = std::function<void(World&, ResourceNetwork::ActivityId)>;

// Starts activities at once, changes one of them later, and checks when each ends.
void expect_ends(const std::string& claim, const std::vector<double>& capacities,
                 const std::vector<ActivitySpec>& activities, const std::vector<Time>& ends,
                 const std::vector<std::pair<Time, Change>>& changes = {}) {
  SCOPED_TRACE(claim);
  World world(capacities);
  std::vector<ResourceNetwork::ActivityId> ids;
  for (const ActivitySpec& activity : activities) ids.push_back(world.start(activity));
  for (const auto& [at, change] : changes) {
    world.at(at, [&world, &ids, &change = change] { change(world, ids.front()); });
  }
  world.simulator.run();
  ASSERT_EQ(world.ended.size(), ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(world.ended[i], ends[i]) << "activity " << i;
}

TEST(ResourceNetwork, EndsActivitiesWhenTheirShareOfTheirTightestResourceHasServedThem) {
  // 3 units take 3 s at 1 per second.
  expect_ends("a lone activity runs at the rate of its tightest resource", {4.0, 1.0, 2.0},
              {transfer(3.0, {{0, 1.0}, {1, 1.0}, {2, 1.0}})}, {3s});
  // 1/3 s is 333333333333.3 ps: the activity ends at the next whole picosecond.
  expect_ends("completions are rounded up", {3.0}, {transfer(1.0, {{0, 1.0}})}, {Time(333'333'333'334)});
  expect_ends("the smallest amount takes a picosecond, and none takes none", {1e12},
              {transfer(1e-300, {{0, 1.0}}), transfer(0.0, {{0, 1.0}})}, {Time(1), Time(0)});
  // Each runs at 1/2 until the first ends at 2 s; the second, with 2 to go, ends at 4 s.
  expect_ends("the rest goes to those who stay", {1.0}, {transfer(1.0, {{0, 1.0}}), transfer(3.0, {{0, 1.0}})},
              {2s, 4s});
  // The second arrives at 1 s, when the first has 1 of 2 to go. Both run at 1/2 until 3 s; the second then has 1 to go.
  expect_ends("resources are shared from the instant of an arrival", {1.0}, {transfer(2.0, {{0, 1.0}})}, {3s, 4s},
              {{1s, [](World& world, auto) {
                  world.start(transfer(2.0, {{0, 1.0}}));
                }}});
  // 2 units are done at 1 s, and 2 more would take 2 s at the cap. The cap is lifted at 2 s: the last unit takes 0.5 s.
  expect_ends("a cap comes and goes", {2.0}, {transfer(4.0, {{0, 1.0}})}, {2500ms},
              {{1s, [](World& world, auto id) { world.network.set_cap(id, 1.0); }},
               {2s, [](World& world, auto id) { world.network.set_cap(id, infinity); }}});
  // 2 units take the first second at 2 per second; then 2 units take 4 s at 1/2 per second.
  expect_ends("a capacity changes", {2.0}, {transfer(4.0, {{0, 1.0}})}, {5s},
              {{1s, [](World& world, auto) { world.network.set_capacity(0, 0.5); }}});
}

TEST(ResourceNetwork, EndsEqualActivitiesTogetherInTheOrderOfTheirStart) {
  World world({7.0});
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    struct Note {
      std::vector<int>* order;
      int number;
      void operator()() const { order->push_back(number); }
    };
    world.network.start(transfer(1.0, {{0, 1.0}}), Note{&order, i});
  }
  world.simulator.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(world.simulator.now(), sim::to_time(sim::Seconds(5.0 / 7.0)));
}

// At 1 s, 1 of 2 units is done on resource 0 (1 per second); the other goes over resource 1 (4 per second) in 0.25 s.
TEST(ResourceNetwork, ReshapingKeepsProgress) {
  const Change to_another = [](World& world, auto id) { world.network.reshape(id, transfer(0.0, {{1, 1.0}})); };
  expect_ends("over another resource", {1.0, 4.0}, {transfer(2.0, {{0, 1.0}})}, {1250ms}, {{1s, to_another}});
  // The activity moves to the other resource and back within an instant, with as much left to do: it ends once, at 2 s.
  const Change to_and_fro = [&to_another](World& world, auto id) {
    to_another(world, id);
    world.network.reshape(id, transfer(0.0, {{0, 1.0}}));
  };
  expect_ends("to and fro", {1.0, 4.0}, {transfer(2.0, {{0, 1.0}}), transfer(2.0, {{1, 1.0}})}, {2s, 500ms},
              {{1s, to_and_fro}});
}

TEST(ResourceNetwork, SolvesOnceForAllChangesOfAnInstant) {
  World world({1.0, 1.0});
  for (int i = 0; i < 10; ++i) world.start(transfer(1.0 + i, {{0, 1.0}, {1, 1.0 + i}}));
  world.at(0s, [&world] { world.network.set_capacity(0, 3.0); });
  world.at(1ns, [&world] {
    EXPECT_EQ(world.network.effort().solves, 1u);
    EXPECT_EQ(world.network.effort().classes, 10u);
  });
  world.simulator.run();
}

// Resources 0 and 1 are connected, and resource 2 is apart: changes at 2 do not affect the others.
TEST(ResourceNetwork, SolvesOnlyThePartThatIsConnectedWithAChange) {
  World world({1.0, 1.0, 1.0});
  world.start(transfer(100.0, {{0, 1.0}}));
  world.start(transfer(100.0, {{0, 1.0}, {1, 1.0}}));
  world.start(transfer(100.0, {{1, 1.0}}));
  world.start(transfer(100.0, {{2, 1.0}}));
  world.at(1s, [&world] { world.start(transfer(1.0, {{2, 2.0}})); });
  std::uint64_t before = 0;
  world.at(500ms, [&world, &before] { before = world.network.effort().classes; });
  std::uint64_t after = 0;
  world.at(1500ms, [&world, &after] { after = world.network.effort().classes; });
  world.simulator.run();
  EXPECT_EQ(before, 4u);
  EXPECT_EQ(after - before, 2u);
}

// Fifty times, one member of a class ends and an equal one starts. The rates are found only twice, at the beginning and
// at the end.
TEST(ResourceNetwork, SolvesNothingWhenAnEqualActivityTakesOver) {
  struct Relay {
    World& world;
    int left = 50;
    void next() {
      if (left-- > 0) world.network.start(transfer(1.0, {{0, 1.0}}), [this] { next(); });
    }
  };
  World world({2.0, 1.0});
  world.start(transfer(1000.0, {{0, 1.0}, {1, 1.0}}));
  Relay relay{world};
  relay.next();
  world.simulator.run();
  EXPECT_EQ(world.network.effort().solves, 2u);
  // 50 units run at 1 per second; then the other flow goes on at 1 per second, its limit on resource 1.
  EXPECT_EQ(world.ended[0], Time(1000s));
}

sim::Task<> send_twice(ResourceNetwork& network, std::vector<Time>& ended) {
  const std::vector<sim::Usage> link{{0, 1.0}};
  co_await network.run(transfer(1.0, link));
  ended.push_back(network.simulator().now());
  co_await network.run(transfer(2.0, link));
  ended.push_back(network.simulator().now());
}

TEST(ResourceNetwork, LetsAProcessAwaitAnActivity) {
  World world({1.0});
  std::vector<Time> ended;
  world.simulator.spawn("sender", send_twice(world.network, ended));
  world.simulator.run();
  EXPECT_EQ(ended, (std::vector<Time>{1s, 3s}));
}

TEST(ResourceNetwork, SaysWhatHoldsAnActivityBack) {
  World world({4.0, 10.0});
  ActivitySpec capped = transfer(100.0, {{1, 1.0}});
  capped.cap = 2.0;
  ActivitySpec latent = transfer(100.0, {{1, 1.0}});
  latent.in_flight = 1.0;
  latent.fixed_latency = Time(500ms);
  const auto at_cap = world.start(capped);
  const auto at_latency = world.start(latent);
  const auto over_both = world.start(transfer(100.0, {{0, 1.0}, {1, 1.0}}));
  world.at(1s, [&] {
    EXPECT_EQ(world.network.limit(at_cap), (RateLimit{RateLimit::Kind::cap, 0}));
    EXPECT_EQ(world.network.limit(at_latency), (RateLimit{RateLimit::Kind::latency, 0}));
    EXPECT_EQ(world.network.limit(over_both), (RateLimit{RateLimit::Kind::resource, 0}));
  });
  world.simulator.run();
}

// A reads at 2 units of memory per unit of progress and B at 1: 2 * x + x = 12 per second, x = 4, so 8 and 4 at 1 s.
TEST(ResourceNetwork, AccountsForEveryUnitOfAResource) {
  World world({12.0});
  ActivitySpec a = transfer(8.0, {{0, 2.0}});
  a.tag = 7;
  ActivitySpec b = transfer(4.0, {{0, 1.0}});
  b.tag = 9;
  const auto id_a = world.start(a);
  const auto id_b = world.start(b);
  world.at(500ms, [&] {
    EXPECT_DOUBLE_EQ(world.network.rate(id_a), 4.0);
    EXPECT_DOUBLE_EQ(world.network.load(0), 12.0);
    EXPECT_DOUBLE_EQ(world.network.utilisation(0), 1.0);
    EXPECT_DOUBLE_EQ(world.network.served(0), 6.0);
    const std::vector<ResourceNetwork::Share> shares = world.network.shares(0);
    ASSERT_EQ(shares.size(), 2u);
    EXPECT_EQ(shares[0].activity, id_a);
    EXPECT_EQ(shares[0].tag, 7u);
    EXPECT_DOUBLE_EQ(shares[0].load, 8.0);
    EXPECT_EQ(shares[1].activity, id_b);
    EXPECT_DOUBLE_EQ(shares[1].load, 4.0);
  });
  world.simulator.run();
  // B ends at 1 s; A has 4 of 8 to go, at 6 per second.
  EXPECT_EQ(world.ended[1], Time(1s));
  EXPECT_EQ(world.ended[0], sim::to_time(sim::Seconds(5.0 / 3.0)));
  EXPECT_DOUBLE_EQ(world.network.served(0), 20.0);
  EXPECT_EQ(world.network.busy(0), world.ended[0]);
  EXPECT_FALSE(world.network.live(id_a));
  EXPECT_EQ(world.network.rate(id_a), 0.0);
}

TEST(ResourceNetwork, CountsBusyTimeOnlyWhileAResourceIsUsed) {
  World world({1.0});
  world.start(transfer(1.0, {{0, 1.0}}));
  world.at(5s, [&world] { world.start(transfer(2.0, {{0, 1.0}})); });
  world.simulator.run();
  EXPECT_EQ(world.simulator.now(), Time(7s));
  EXPECT_EQ(world.network.busy(0), Time(3s));
}

// Rates change at 0, 2 and 4 s (as in "the rest goes to those who stay"); the stretches add up to all 4 units.
TEST(ResourceNetwork, ShowsObserversEveryStretchOfHeldRatesOnce) {
  World world({1.0});
  std::vector<Time> borders;
  double units = 0.0;
  world.network.add_observer([&](Time since, Time until) {
    borders.push_back(until);
    units += world.network.load(0) * sim::to_seconds(until - since).value();
    EXPECT_EQ(world.network.shares(0).size(), until <= Time(2s) ? 2u : 1u);
  });
  world.start(transfer(1.0, {{0, 1.0}}));
  world.start(transfer(3.0, {{0, 1.0}}));
  world.simulator.run();
  EXPECT_EQ(borders, (std::vector<Time>{2s, 4s}));
  EXPECT_DOUBLE_EQ(units, 4.0);
}

// A governor lowers the capacity to 8 over the number of flows: two flows have 4, so that each gets 2.
TEST(ResourceNetwork, RepeatsSolveAndRegulatorsUntilNoneChangesAnything) {
  World world({100.0});
  int calls = 0;
  world.network.add_regulator([&] {
    ++calls;
    const double wanted = 8.0 / std::max<double>(1.0, static_cast<double>(world.network.shares(0).size()));
    if (world.network.capacity(0) == wanted) return false;
    world.network.set_capacity(0, wanted);
    return true;
  });
  const auto id = world.start(transfer(2.0, {{0, 1.0}}));
  world.start(transfer(2.0, {{0, 1.0}}));
  world.at(500ms, [&] { EXPECT_DOUBLE_EQ(world.network.rate(id), 2.0); });
  world.simulator.run();
  EXPECT_EQ(world.ended[0], Time(1s));
  EXPECT_EQ(world.network.unregulated(), 0u);
  EXPECT_EQ(calls, 4);  // The regulator is called twice at the start and twice when both activities have ended.
}

TEST(ResourceNetwork, StopsRegulatorsThatNeverSettle) {
  World world({1.0});
  world.network.add_regulator([&] {
    world.network.set_capacity(0, world.network.capacity(0) == 1.0 ? 2.0 : 1.0);
    return true;
  });
  world.start(transfer(1.0, {{0, 1.0}}));
  world.simulator.run();
  EXPECT_EQ(world.network.unregulated(), 2u);
}

TEST(ResourceNetwork, RefusesActivitiesThatCouldNeverEndOrNeedNoTime) {
  World world({1.0});
  EXPECT_THROW(world.start(transfer(1.0, {})), sim::InternalError);  // Nothing limits the rate of this activity.
  EXPECT_THROW(world.start(transfer(-1.0, {{0, 1.0}})), sim::InternalError);
  EXPECT_THROW(world.start(transfer(1.0, {{1, 1.0}})), sim::InternalError);
  EXPECT_THROW(world.start(transfer(1.0, {{0, 0.0}})), sim::InternalError);
  ActivitySpec stopped = transfer(1.0, {{0, 1.0}});
  stopped.cap = 0.0;
  EXPECT_THROW(world.start(stopped), sim::InternalError);
  EXPECT_THROW(world.network.set_capacity(0, 0.0), sim::InternalError);
}

// 10 units run at 1 per second, whatever is reshaped at 1, 2 and 3 s. A class that an activity leaves and joins again
// holds two marks at the same service, of which one counts.
TEST(ResourceNetwork, AnActivityReshapedToWhatItWasEndsOnceAndOnTime) {
  World world({1.0});
  const ActivitySpec whole = transfer(10.0, {{0, 1.0}});
  ActivitySpec capped = whole;
  capped.cap = 0.5;
  const auto id = world.start(whole);
  world.at(1s, [&] { world.network.reshape(id, whole); });
  world.at(2s, [&] {
    world.network.reshape(id, capped);
    world.network.reshape(id, whole);
  });
  world.at(3s, [&] {
    world.network.set_cap(id, 0.5);
    world.network.set_cap(id, infinity);
  });
  world.simulator.run();
  EXPECT_EQ(world.ended, (std::map<std::uint64_t, Time>{{0, 10s}}));
  EXPECT_NEAR(world.network.served(0), 10.0, 1e-9);
}

// 3 units at 1 per second are due at 3 s. A change at that instant comes too late or ends the activity at once, but the
// run goes on.
TEST(ResourceNetwork, AnActivityReshapedAtTheInstantItIsDueEndsThen) {
  World world({1.0});
  ActivitySpec spec = transfer(3.0, {{0, 1.0}});
  ResourceNetwork::ActivityId id = 0;
  // The event is scheduled before the activity starts, so that it comes before the activity's end at 3 s.
  world.at(3s, [&] {
    spec.weight = 2.0;
    if (world.network.live(id)) world.network.reshape(id, spec);
  });
  id = world.start(spec);
  world.simulator.run();
  EXPECT_EQ(world.ended, (std::map<std::uint64_t, Time>{{0, 3s}}));
}

// The tests below compare runs of random transfers over random networks with an event-by-event model, and check
// invariants of all runs.

// A Scenario is a run of random transfers over random resources; some transfers start late.
struct Scenario {
  std::vector<double> capacities;
  struct Transfer {
    ActivitySpec spec;
    Time start;
  };
  std::vector<Transfer> transfers;
};

// Draws up to 6 resources and 14 transfers. Half of the values are round, so that ends coincide and classes have
// several members. Times are about a second.
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

// For one resource this holds whatever the weights, caps and arrivals: at each moment no more transfers are live than
// with less bandwidth, so that each has at least as large a share. (Over several resources it does not hold: a transfer
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

// This holds for any network: if all capacities and caps grow by a factor and nothing arrives late, all times shrink by
// that factor.
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
