// What memories that know collectives would do: channels set apart for them, or requests that overtake (ConCCL, section
// VII-A).
#include <gtest/gtest.h>

#include <vector>

#include "models/machine/activity_tag.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

// Rates in GB/s of a GEMM and of another tenant that both only read, as fast as HBM lets them; nothing in flight: no
// such reader.
struct Rates {
  double gemm = 0.0;
  double collective = 0.0;
};

Rates rates_of_readers(const PlatformSpec& platform, double gemm_in_flight, double collective_in_flight,
                       Tenant other = Tenant::sdma) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  sim::ResourceNetwork& network = node.network();
  const Memory& memory = node.gpu(0).memory();
  const auto reader = [&](Tenant tenant, double weight) {
    UsageList usages;
    memory.add_below_l2(usages, {1.0, 0.0, 0.0});
    sim::ActivitySpec activity;
    activity.amount = 1e9;
    activity.usages = std::move(usages).take();
    activity.weight = weight;
    activity.tag = ActivityTag{0, tenant}.packed();
    return network.start(activity, [] {});
  };
  std::vector<sim::ResourceNetwork::ActivityId> readers{0, 0};
  if (gemm_in_flight > 0.0) readers[0] = reader(Tenant::gemm, gemm_in_flight);
  if (collective_in_flight > 0.0) {
    readers[1] = reader(other, memory.collective_weight(collective_in_flight));
  }
  Rates rates;
  const auto look = [&] { rates = {network.rate(readers[0]) / 1e9, network.rate(readers[1]) / 1e9}; };
  simulator.schedule(sim::Time(1), [&look] { look(); });
  simulator.run();
  return rates;
}

// HBM reads at 800 GB/s. Shared in proportion to what is in flight, 3 to 1: 600 and 200.
TEST(MemoryPolicy, ServesInProportionToBytesInFlight) {
  const Rates both = rates_of_readers(round_platform(), 3.0, 1.0);
  EXPECT_NEAR(both.gemm, 600.0, 1e-6);
  EXPECT_NEAR(both.collective, 200.0, 1e-6);
}

// A quarter of the channels for collectives: 200 of 800 GB/s, whatever else runs and whatever is in flight; for nobody
// else even if they are idle.
TEST(MemoryPolicy, ChannelsSetApartAreThereForCollectivesAlone) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collective_channels = 0.25;
  for (const double gemm : {1.0, 1000.0}) {
    const Rates both = rates_of_readers(platform, gemm, 1.0);
    EXPECT_NEAR(both.gemm, 600.0, 1e-6);
    EXPECT_NEAR(both.collective, 200.0, 1e-6);
  }
  EXPECT_NEAR(rates_of_readers(platform, 1.0, 0.0).gemm, 600.0, 1e-6);
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 200.0, 1e-6);
}

// Compute first: a GEMM has what it asks for, less the floor of a twentieth, and communication what a threshold of 80 %
// leaves: of 1000 GB/s of bus that reads fill to 80 %, 950 and 50; alone, 800 of 1000 on the bus, which carry 640.
TEST(MemoryPolicy, ArbitrationServesComputeFirstAndKeepsAFloor) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.arbitration = Arbitration::fixed;
  platform.gpu.memory.arbitration_threshold = 0.8;
  platform.gpu.memory.arbitration_floor = 0.05;
  const Rates both = rates_of_readers(platform, 1.0, 1000.0);
  EXPECT_NEAR(both.gemm, 0.95 * 800.0, 1e-3);
  EXPECT_NEAR(both.collective, 0.05 * 800.0, 1e-3);
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 0.8 * 800.0, 1.0);
  platform.gpu.memory.arbitration = Arbitration::adaptive;
  EXPECT_NEAR(rates_of_readers(platform, 0.0, 1.0).collective, 800.0, 1.0);
}

// What is set apart is kept from all other tenants alike, who share the rest. In a machine in which tenants do not
// share HBM each has all of its 800 GB/s.
TEST(MemoryPolicy, OtherKernelsAreTenantsBesideGemms) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collective_channels = 0.25;
  for (const Tenant other : {Tenant::stream, Tenant::remote}) {
    const Rates both = rates_of_readers(platform, 1.0, 1.0, other);
    EXPECT_NEAR(both.gemm, 300.0, 1e-6);
    EXPECT_NEAR(both.collective, 300.0, 1e-6);
    PlatformSpec without = round_platform();
    without.without.add(Mechanism::hbm);
    const Rates apart = rates_of_readers(without, 1.0, 1.0, other);
    EXPECT_NEAR(apart.gemm, 800.0, 1e-6);
    EXPECT_NEAR(apart.collective, 800.0, 1e-6);
  }
}

// The collective takes all but a thousandth of what both want, though it has a thousandth in flight.
TEST(MemoryPolicy, CollectivesThatGoFirstOvertakeAGemm) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collectives_first = true;
  EXPECT_GT(rates_of_readers(platform, 1000.0, 1.0).collective, 799.0);
}

// Latency under load is what collectives wait for: with others in the way it grows, if they go first it does not. An
// engine with 100 kB in flight over 1 us moves 100 GB/s of what the Infinity Cache holds; a GEMM that fills HBM makes
// HBM's microsecond two.
TEST(MemoryPolicy, CollectivesThatGoFirstWaitForThemselvesAlone) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_latency = sim::Time(1'000'000);
  platform.gpu.memory.queueing_factor = 1.0;
  const auto rate = [&platform] {
    sim::Simulator simulator;
    Node node(simulator, platform);
    const auto start = [&node](Tenant tenant, double hits, double in_flight) {
      UsageList usages;
      node.gpu(0).memory().add_below_l2(usages, {1.0, 0.0, hits});
      sim::ActivitySpec activity;
      activity.amount = 1e9;
      activity.usages = std::move(usages).take();
      activity.tag = ActivityTag{0, tenant}.packed();
      activity.in_flight = in_flight;
      if (in_flight > 0.0) activity.latency_path = {node.gpu(0).memory().hbm()};
      return node.network().start(activity, [] {});
    };
    start(Tenant::gemm, 0.0, 0.0);
    const auto engine = start(Tenant::sdma, 1.0, 1e5);
    double held = 0.0;
    const auto look = [&] { held = node.network().rate(engine); };
    simulator.schedule(sim::Time(1), [&look] { look(); });
    simulator.run();
    return held;
  };
  EXPECT_LT(rate(), 1e11 / 1.9);
  platform.gpu.memory.collectives_first = true;
  EXPECT_NEAR(rate(), 1e11, 1e3);
}

}  // namespace
}  // namespace c3sim::models
