// These tests check resources that serve each tenant as if it were alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::sim {
namespace {

using ::testing::ElementsAre;

// The resource has 10 units/s and 1 s of latency, which grows by 5 % of load / (1 - load), with a load of at most 0.95.
const ResourceSpec resource{"memory", 10.0, {Time(1'000'000'000'000), 0.05, 1.0, 0.95}};

// Two activities of two tenants take all they can get of one resource; the struct holds what is observed while both
// run.
struct TwoTenants {
  explicit TwoTenants(const ResourceNetwork::Apart& apart, double in_flight = 0.0)
      : memory(network.add_resource(resource, apart)) {
    std::vector<ResourceNetwork::ActivityId> activities;
    for (const std::uint32_t tag : {0u, 1u}) {
      ActivitySpec spec{.amount = 1e6, .usages = {{memory, 1.0}}, .in_flight = in_flight};
      if (in_flight > 0.0) spec.latency_path = {memory};
      spec.tag = tag;
      activities.push_back(network.start(spec, [] {}));
    }
    const auto look = [this, activities] {
      for (const auto activity : activities) rates.push_back(network.rate(activity));
      for (const std::size_t tenant : {0u, 1u}) loads.push_back(network.load_of(tenant, memory));
      utilisation = network.utilisation(memory);
      limit = network.whole(network.limit(activities[0]).resource);
    };
    simulator.schedule(Time(1), [&look] { look(); });
    simulator.run();
  }

  Simulator simulator;
  ResourceNetwork network{simulator, 2, [](std::uint32_t tag) { return static_cast<std::size_t>(tag); }};
  ResourceId memory;
  std::vector<double> rates;
  std::vector<double> loads;
  double utilisation = 0.0;
  ResourceId limit = 0;
};

TEST(ApartResource, IsOneForAllUnlessSomethingIs) {
  const TwoTenants tenants({});
  EXPECT_THAT(tenants.rates, ElementsAre(5.0, 5.0));
  EXPECT_THAT(tenants.loads, ElementsAre(10.0, 10.0));
  EXPECT_EQ(tenants.network.whole(tenants.memory), tenants.memory);
}

// Each tenant has 10 units/s. Explanations name the whole resource, which is as full as its fullest part.
TEST(ApartResource, GivesEachAllOfTheBandwidth) {
  const TwoTenants tenants({.bandwidth = true});
  EXPECT_THAT(tenants.rates, ElementsAre(10.0, 10.0));
  EXPECT_DOUBLE_EQ(tenants.utilisation, 1.0);
  EXPECT_EQ(tenants.limit, tenants.memory);
}

TEST(ApartResource, GivesEachItsShareOfTheBandwidth) {
  EXPECT_THAT(TwoTenants({.bandwidth = true, .share = {0.7, 0.3}}).rates, ElementsAre(7.0, 3.0));
}

// At a rate of 20 each tenant has it all, or its share: what was apart stays apart.
TEST(ApartResource, TakesAnotherRateWithItsParts) {
  TwoTenants all({.bandwidth = true});
  all.network.set_rate(all.memory, 20.0);
  EXPECT_EQ(all.network.capacity(all.memory), 40.0);
  EXPECT_EQ(all.network.capacity(all.network.part(1, all.memory)), 20.0);
  TwoTenants shares({.bandwidth = true, .share = {0.7, 0.3}});
  shares.network.set_rate(shares.memory, 20.0);
  EXPECT_EQ(shares.network.capacity(shares.network.part(1, shares.memory)), 6.0);
}

TEST(ApartResource, MetersTheLoadOfEach) {
  const TwoTenants tenants({.load = true});
  EXPECT_THAT(tenants.rates, ElementsAre(5.0, 5.0));
  EXPECT_THAT(tenants.loads, ElementsAre(5.0, 5.0));
}

// Each keeps 4 units in flight at r units/s. The load is 2r/10 together, r/10 alone: r = 4 / (1 + 0.05 u / (1 - u)).
TEST(ApartResource, MakesEachWaitForItselfAlone) {
  const auto rate_at = [](double rate_over_load) {
    double rate = 4.0;
    for (int i = 0; i < 100; ++i) rate = 4.0 / (1.0 + 0.05 * (rate * rate_over_load) / (1.0 - rate * rate_over_load));
    return rate;
  };
  EXPECT_NEAR(TwoTenants({}, 4.0).rates[0], rate_at(0.2), 1e-4);
  EXPECT_NEAR(TwoTenants({.latency = true}, 4.0).rates[0], rate_at(0.1), 1e-4);
  EXPECT_NEAR(TwoTenants({.bandwidth = true}, 4.0).rates[0], rate_at(0.2), 1e-4);
  EXPECT_NEAR(TwoTenants({.bandwidth = true, .latency = true}, 4.0).rates[0], rate_at(0.1), 1e-4);
}

// A load of 10 of 30 units/s counts as full, as 10 of 10 does: the latency is 2 s.
TEST(LoadedLatency, CountsAsFullAtLessThanTheCapacity) {
  LoadedLatency latency = resource.latency;
  EXPECT_NEAR(latency.at(1.0).value(), 2.0, 1e-12);
  latency.full_at = 1.0 / 3.0;
  EXPECT_NEAR(latency.at(1.0 / 3.0).value(), 2.0, 1e-12);
  EXPECT_NEAR(latency.at(1.0).value(), 2.0, 1e-12);
  EXPECT_NEAR(latency.at(0.0).value(), 1.0, 1e-12);
}

}  // namespace
}  // namespace c3sim::sim
