#include "models/machine/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/resource_kind.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_GBps;
using sim::operator""_ns;

FabricSpec spec_of(Topology topology, double reverse_share) {
  FabricSpec spec;
  spec.topology = topology;
  spec.gpus = 4;
  spec.link_rate = 10.0_GBps;
  spec.reverse_share = reverse_share;
  spec.reads_in_flight = sim::Bytes(1e9);
  spec.host_to_device_rate = 20.0_GBps;
  spec.device_to_host_rate = 30.0_GBps;
  return spec;
}

// A LoneFabric is a fabric on a network of its own.
struct LoneFabric {
  explicit LoneFabric(const FabricSpec& spec) : fabric(spec, network) {}
  sim::Simulator simulator;
  sim::ResourceNetwork network{simulator};
  Fabric fabric;
};

struct Hop {
  int from;
  int to;
};

std::vector<double> rates(const FabricSpec& spec, const std::vector<Hop>& paths) {
  LoneFabric lone(spec);
  std::vector<UsageList> lists;
  for (const Hop& hop : paths) lone.fabric.add(lists.emplace_back(), hop.from, hop.to, 1.0);
  return rates_together(lone.network, std::move(lists));
}

TEST(Fabric, SharesLinksOfAMeshAndPortsOfASwitch) {
  struct Flows {
    const char* claim;
    FabricSpec spec;
    std::vector<Hop> paths;
    std::vector<double> rates;
  };
  const FabricSpec mesh = spec_of(Topology::mesh, 0.0);
  const FabricSpec crossbar = spec_of(Topology::fabric_switch, 0.0);
  std::vector<Flows> all{
      {"every pair has a link of its own",
       mesh,
       {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {2, 1}, {3, 0}},
       std::vector<double>(6, 10e9)},
      {"flows between the same two GPUs share their link", mesh, {{0, 1}, {0, 1}}, {5e9, 5e9}},
      {"what one GPU sends shares its port", crossbar, {{0, 1}, {0, 2}}, {5e9, 5e9}},
      {"what one GPU receives shares its port", crossbar, {{1, 0}, {2, 0}}, {5e9, 5e9}},
      {"sending does not hinder receiving", crossbar, {{0, 1}, {1, 2}, {2, 0}}, std::vector<double>(3, 10e9)}};
  for (const Topology topology : {Topology::mesh, Topology::fabric_switch}) {
    const FabricSpec reverse = spec_of(topology, 0.25);
    all.push_back({"one direction alone has the whole link", reverse, {{0, 1}}, {10e9}});
    // Each direction carries r of payload and 0.25 r for the other's payload: r = 10 / 1.25 GB/s.
    all.push_back({"both directions lose the reverse share", reverse, {{0, 1}, {1, 0}}, {8e9, 8e9}});
  }
  for (const auto& [claim, spec, paths, expected] : all) {
    EXPECT_THAT(rates(spec, paths), ::testing::Pointwise(::testing::DoubleEq(), expected)) << claim;
  }
}
// Each read holds its place for 2 * 250 ns of fabric and 500 ns of memory: 12 KB in flight give 12 GB/s.
TEST(FabricReads, AreBoundByThoseInFlightOverTheRoundTrip) {
  FabricSpec spec = spec_of(Topology::mesh, 0.0);
  spec.latency = 250_ns;
  spec.reads_in_flight = sim::Bytes(12e3);
  spec.read_cost = 0.8;
  const auto rates_of = [&spec](const std::vector<Hop>& reads, const std::vector<Hop>& stores) {
    LoneFabric lone(spec);
    std::vector<UsageList> lists;
    for (const Hop& hop : reads) lone.fabric.add_read(lists.emplace_back(), hop.from, hop.to, 1.0, 500_ns);
    for (const Hop& hop : stores) lone.fabric.add(lists.emplace_back(), hop.from, hop.to, 1.0);
    return rates_together(lone.network, std::move(lists));
  };
  const auto expect_rates = [](const std::vector<double>& rates, const std::vector<double>& expected) {
    ASSERT_EQ(rates.size(), expected.size());
    for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1.0);
  };
  expect_rates(rates_of({{0, 1}, {0, 2}, {0, 3}}, {}), {4e9, 4e9, 4e9});
  expect_rates(rates_of({{0, 1}, {1, 2}}, {}), {12e9, 12e9});  // each GPU has its own; 12 < 10 / 0.8
  expect_rates(rates_of({{0, 1}, {0, 2}, {0, 3}}, {{0, 1}}), {4e9, 4e9, 4e9, 10e9});  // stores hold no places
  spec.latency = 1_ns;
  spec.reads_in_flight = sim::Bytes(1e9);
  expect_rates(rates_of({{0, 1}, {0, 1}}, {}), {6.25e9, 6.25e9});  // the link out of GPU 1, 10 / 0.8
}

TEST(FabricHost, EachDirectionHasItsOwnRate) {
  const std::vector<Hop> paths{{host_device, 0}, {0, host_device}, {1, host_device}};
  EXPECT_EQ(rates(spec_of(Topology::mesh, 0.0), paths), (std::vector<double>{20e9, 30e9, 30e9}));
}

// Payload takes the link to the destination, and acknowledgements take the link back; both pass the ports of a switch.
// The host is an endpoint like any other.
TEST(FabricRoute, IsTheResourcesThatDataPassesAndHowLongItTakes) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  FabricSpec spec = spec_of(Topology::mesh, 0.1);
  spec.latency = 450_ns;
  spec.host_latency = 800_ns;
  const Fabric mesh(spec, network);
  const auto names = [&network](const Route& route) {
    std::vector<std::string> found;
    for (const Route::Hop& hop : route.all()) found.push_back((hop.back ? "back " : "") + network.name(hop.resource));
    return found;
  };
  EXPECT_EQ(names(mesh.route(0, 2)), (std::vector<std::string>{"gpu0.link_to_gpu2", "back gpu2.link_to_gpu0"}));
  EXPECT_EQ(mesh.route(0, 2).latency, 450_ns);
  EXPECT_EQ(names(mesh.route(1, host_device)), (std::vector<std::string>{"gpu1.to_host"}));
  EXPECT_EQ(names(mesh.route(host_device, 1)), (std::vector<std::string>{"gpu1.from_host"}));
  EXPECT_EQ(mesh.route(host_device, 1).latency, 800_ns);
  EXPECT_TRUE(mesh.route(1, 1).all().empty());
  EXPECT_EQ(mesh.route(1, 1).latency, sim::Time::zero());

  spec.topology = Topology::fabric_switch;
  const Fabric crossbar(spec, network);
  EXPECT_EQ(names(crossbar.route(0, 2)),
            (std::vector<std::string>{"gpu0.port_out", "back gpu2.port_out", "gpu2.port_in", "back gpu0.port_in"}));
}

TEST(FabricPorts, AreWhatAGpuSendsAndReceivesBy) {
  sim::Simulator simulator;
  sim::ResourceNetwork network(simulator);
  const Fabric mesh(spec_of(Topology::mesh, 0.0), network);
  const auto links = mesh.ports(1);
  const std::set<sim::ResourceNetwork::ResourceId> expected{mesh.link(1, 0), mesh.link(1, 2), mesh.link(1, 3),
                                                            mesh.link(0, 1), mesh.link(2, 1), mesh.link(3, 1)};
  EXPECT_EQ(links.size(), 6u);
  EXPECT_EQ((std::set<sim::ResourceNetwork::ResourceId>(links.begin(), links.end())), expected);

  const Fabric crossbar(spec_of(Topology::fabric_switch, 0.0), network);
  EXPECT_EQ(crossbar.ports(1).size(), 2u);
  EXPECT_EQ(crossbar.ports(1).front(), crossbar.link(1, 0));
}

// For any transfers, the ports of all GPUs serve each payload byte twice, at its source and at its destination, and the
// reverse share of it as often.
RC_GTEST_PROP(FabricConservation, PortsServeEveryByteWhereItLeavesAndWhereItArrives, ()) {
  const Topology topology = *rc::gen::element(Topology::mesh, Topology::fabric_switch);
  const double share = *rc::gen::inRange(0, 5) / 10.0;
  const auto transfers = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(1, 4)));
  LoneFabric lone(spec_of(topology, share));
  for (const auto& [from, distance] : transfers) {
    UsageList usages;
    lone.fabric.add(usages, from, (from + distance) % 4, 1.0);
    sim::ActivitySpec flow{.amount = 1000.0, .usages = std::move(usages).take()};
    lone.network.start(flow, [] {});
  }
  lone.simulator.run();
  double served = 0.0;
  for (int gpu = 0; gpu < 4; ++gpu) {
    for (const auto port : lone.fabric.ports(gpu)) served += lone.network.served(port);
  }
  const double payload = 1000.0 * static_cast<double>(transfers.size());
  RC_ASSERT(std::abs(served - 2.0 * (1.0 + share) * payload) <= 1e-9 * (1.0 + payload));
}

RC_GTEST_PROP(FabricSymmetry, RenamingTheGpusChangesNoRate, ()) {
  const FabricSpec spec = spec_of(*rc::gen::element(Topology::mesh, Topology::fabric_switch), 0.1);
  const auto raw = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(1, 4))));
  const int shift = *rc::gen::inRange(1, 4);
  std::vector<Hop> paths;
  std::vector<Hop> renamed;
  for (const auto& [from, distance] : raw) {
    paths.push_back({from, (from + distance) % 4});
    renamed.push_back({(from + shift) % 4, (from + distance + shift) % 4});
  }
  const std::vector<double> before = rates(spec, paths);
  const std::vector<double> after = rates(spec, renamed);
  for (std::size_t i = 0; i < before.size(); ++i) RC_ASSERT(std::abs(before[i] - after[i]) <= 1e-9 * before[i]);
}

// The solver takes only positive coefficients, and a resource that is not used must not connect two activities.
TEST(UsageList, IsTakenInTheOrderOfTheFirstAmounts) {
  UsageList list;
  list.add(7, 1.0);
  list.add(4, 0.0);
  list.add(3, 0.25);
  list.add(7, 0.5);
  EXPECT_EQ(std::move(list).take(), (std::vector<sim::Usage>{{7, 1.5}, {3, 0.25}}));
}

RC_GTEST_PROP(UsageList, EachResourceIsListedOnceWithTheSumOfItsAmounts, ()) {
  const auto adds = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 9)));
  UsageList list;
  std::map<std::uint32_t, double> sums;
  for (const auto& [resource, amount] : adds) {
    list.add(static_cast<std::uint32_t>(resource), amount);
    if (amount > 0) sums[static_cast<std::uint32_t>(resource)] += amount;
  }
  std::map<std::uint32_t, double> listed;
  for (const sim::Usage& usage : list.usages()) listed.emplace(usage.resource, usage.coefficient);
  RC_ASSERT(list.usages().size() == sums.size());
  RC_ASSERT(listed == sums);
}

}  // namespace
}  // namespace c3sim::models
