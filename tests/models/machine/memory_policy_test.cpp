// What memories that know collectives would do: channels set apart for them, or requests that overtake (ConCCL, section
// VII-A).
#include <gtest/gtest.h>

#include <vector>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

// Rates in GB/s of a GEMM and of a copy engine that both only read, as fast as HBM lets them; nothing in flight: no
// such reader.
struct Rates {
  double gemm = 0.0;
  double collective = 0.0;
};

Rates rates_of_readers(const PlatformSpec& platform, double gemm_in_flight, double collective_in_flight) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  sim::ResourceNetwork& network = node.network();
  const auto reader = [&network](const Memory& memory, double weight) {
    UsageList usages;
    memory.add_below_l2(usages, {1.0, 0.0, 0.0});
    sim::ActivitySpec activity;
    activity.amount = 1e9;
    activity.usages = std::move(usages).take();
    activity.weight = weight;
    return network.start(activity, [] {});
  };
  std::vector<sim::ResourceNetwork::ActivityId> readers{0, 0};
  const Memory& collectives = node.gpu(0).memory(Tenant::sdma);
  if (gemm_in_flight > 0.0) readers[0] = reader(node.gpu(0).memory(Tenant::gemm), gemm_in_flight);
  if (collective_in_flight > 0.0) {
    readers[1] = reader(collectives, collectives.collective_weight(collective_in_flight));
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

// The collective takes all but a thousandth of what both want, though it has a thousandth in flight.
TEST(MemoryPolicy, CollectivesThatGoFirstOvertakeAGemm) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.collectives_first = true;
  EXPECT_GT(rates_of_readers(platform, 1000.0, 1.0).collective, 799.0);
}

// Latency under load is what collectives wait for: with others in the way it grows, if they go first it does not.
TEST(MemoryPolicy, CollectivesThatGoFirstWaitForThemselvesAlone) {
  PlatformSpec platform = round_platform();
  platform.gpu.memory.hbm_latency = sim::Time(1'000'000);
  platform.gpu.memory.queueing_factor = 1.0;
  const auto latency = [&platform] {
    sim::Simulator simulator;
    Node node(simulator, platform);
    UsageList usages;
    node.gpu(0).memory(Tenant::gemm).add_below_l2(usages, {1.0, 0.0, 0.0});
    sim::ActivitySpec gemm;
    gemm.amount = 1e9;
    gemm.usages = std::move(usages).take();
    node.network().start(gemm, [] {});
    double microseconds = 0.0;
    const auto look = [&] {
      const std::vector<std::uint32_t> path = node.gpu(0).memory(Tenant::sdma).latency_path();
      microseconds = 1e6 * node.network().latency(path.back()).value();
    };
    simulator.schedule(sim::Time(1), [&look] { look(); });
    simulator.run();
    return microseconds;
  };
  EXPECT_GT(latency(), 1.9);
  platform.gpu.memory.collectives_first = true;
  EXPECT_NEAR(latency(), 1.0, 1e-9);
}

}  // namespace
}  // namespace c3sim::models
