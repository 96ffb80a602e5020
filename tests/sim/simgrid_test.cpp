// These tests compare the fluid engine with SimGrid 3.32, which others wrote, on random topologies: all ends agree.
//
// Both must agree, because rates change only when a flow starts or ends. In between both hold the max-min fair rates
// with equal weights, under a bound of its own for some flows: these rates are unique (Bertsekas and Gallager, Data
// Networks, 2nd ed., section 6.5.2), whatever the way to find them. Hence the next end is the same for both, and so,
// one by one, are all. Starts are given and wait for no end, so that rounding does not build up from flow to flow. A
// link that a route passes twice carries twice the flow's rate, in SimGrid as in sim::FlowClass.
//
// SimGrid can model more, which is switched off: see simgrid_words().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/network_fixture.h"

namespace c3sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double never = std::numeric_limits<double>::quiet_NaN();  // NaN compares near to no number.

struct Flow {
  std::vector<std::uint32_t> route;  // A link may occur twice.
  std::uint64_t bytes;
  sim::Time start;
  double bound;  // The bound is in bytes per second.
};

struct Topology {
  std::vector<double> bytes_per_second;  // There is one rate for each link.
  std::vector<Flow> flows;
};

// Draws 1 to 12 links of 1 to 32 GB/s and 1 to 24 flows of 0.25 to 8 GB over up to six links. Half of the values are
// round, so that links fill together, flows reach their bound as a link fills, and ends coincide.
Topology random_topology(std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&draw](std::uint32_t limit) { return static_cast<std::uint32_t>(draw() % limit); };
  const auto value = [&] { return below(2) == 0 ? 1.0 + below(3) : std::exp2(below(5000) / 1000.0 - 2.0); };
  Topology topology;
  topology.bytes_per_second.resize(1 + below(12));
  for (double& capacity : topology.bytes_per_second) capacity = 4e9 * value();
  std::vector<std::uint32_t> links(topology.bytes_per_second.size());
  for (std::uint32_t link = 0; link < links.size(); ++link) links[link] = link;

  topology.flows.resize(1 + below(24));
  for (Flow& flow : topology.flows) {
    const std::size_t length = 1 + below(static_cast<std::uint32_t>(std::min<std::size_t>(links.size(), 6)));
    for (std::size_t hop = 0; hop < length; ++hop) {
      std::swap(links[hop], links[hop + below(static_cast<std::uint32_t>(links.size() - hop))]);
      flow.route.push_back(links[hop]);
    }
    if (below(8) == 0) flow.route.push_back(flow.route.front());
    flow.bytes = static_cast<std::uint64_t>(1e9 * value());
    flow.start = below(2) == 0 ? sim::Time(0) : sim::Time(static_cast<std::int64_t>(draw() % 4'000'000'000'000));
    flow.bound = below(3) == 0 ? 1e9 * value() : unbounded;
  }
  return topology;
}

double seconds(sim::Time time) { return sim::to_seconds(time).value(); }

// Returns how long the flow would take if it had its route to itself.
double seconds_alone(const Topology& topology, const Flow& flow) {
  double rate = flow.bound;
  for (const std::uint32_t link : flow.route) {
    const auto passes = static_cast<double>(std::count(flow.route.begin(), flow.route.end(), link));
    rate = std::min(rate, topology.bytes_per_second[link] / passes);
  }
  return static_cast<double>(flow.bytes) / rate;
}

// Returns when each flow ends, in seconds.
std::vector<double> c3sim_ends(const Topology& topology) {
  sim::testing::World world(topology.bytes_per_second);
  std::vector<double> ended(topology.flows.size(), never);
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const Flow& flow = topology.flows[i];
    sim::ActivitySpec spec{.amount = static_cast<double>(flow.bytes), .cap = flow.bound};
    for (const std::uint32_t link : flow.route) spec.usages.push_back({link, 1.0});
    world.at(flow.start, [&world, spec, end = &ended[i]] {
      world.network.start(spec, [&world, end] { *end = seconds(world.simulator.now()); });
    });
  }
  world.simulator.run();
  return ended;
}

// Selects SimGrid's model in which flows share links max-min fairly and nothing else happens. TCP options affect only
// links with latency, which these are not; they are set so that no default matters.
std::vector<std::string> simgrid_words() {
  return {"simgrid", "--cfg=network/model:CM02",
          // Flows may use all of a link's bandwidth.
          "--cfg=network/bandwidth-factor:1", "--cfg=network/latency-factor:1",
          // Flows have equal weights, whatever the round-trip time and the bandwidths.
          "--cfg=network/weight-S:0",
          // No TCP window bounds the rate, and no acknowledgements travel back.
          "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0",
          // The precision is finer than the default, although the default is fine enough.
          "--cfg=maxmin/precision:1e-12", "--cfg=surf/precision:1e-12",
          // Each actor is a thread: AddressSanitizer warns of the other ways to switch stacks.
          "--cfg=contexts/factory:thread", "--log=root.threshold:warning"};
}

// Builds the topologies in SimGrid. A process has one engine, once, and builds its whole platform before it runs. Each
// topology is a zone apart, and one runs after the other. In a zone one host sends every flow, each to a host of its
// own, so that each flow has its own route; hosts hold nothing back.
class SimGridZones {
 public:
  explicit SimGridZones(const std::vector<Topology>& topologies) {
    s4u::NetZone* platform = s4u::create_full_zone("platform");
    for (const Topology& topology : topologies) add_zone(topology, platform);
    platform->seal();
  }

  // Returns when each flow ends, in seconds from the start of this run.
  std::vector<double> ends(const Topology& topology, std::size_t zone) {
    std::vector<double> ended(topology.flows.size(), never);
    for (std::size_t i = 0; i < ended.size(); ++i) {
      send(topology.flows[i], hosts_[zone].front(), hosts_[zone][i + 1], &ended[i]);
    }
    engine_.run();
    return ended;
  }

 private:
  void add_zone(const Topology& topology, const s4u::NetZone* platform) {
    const std::string name = "topology" + std::to_string(hosts_.size());
    s4u::NetZone* zone = s4u::create_full_zone(name)->set_parent(platform);
    std::vector<const s4u::Link*> links;
    for (const double capacity : topology.bytes_per_second) {
      const std::string link_name = name + "_link" + std::to_string(links.size());
      links.push_back(zone->create_link(link_name, capacity)->set_latency(0)->seal());
    }
    std::vector<s4u::Host*>& hosts = hosts_.emplace_back();
    hosts.push_back(zone->create_host(name + "_from", 1e9));
    for (const Flow& flow : topology.flows) {
      hosts.push_back(zone->create_host(name + "_to" + std::to_string(hosts.size()), 1e9));
      std::vector<s4u::LinkInRoute> route;
      for (const std::uint32_t link : flow.route) route.emplace_back(links[link]);
      zone->add_route(hosts.front()->get_netpoint(), hosts.back()->get_netpoint(), nullptr, nullptr, route, false);
    }
    zone->seal();
  }

  // Sends through a mailbox, because Comm::sendto() ignores a bound.
  static void send(const Flow& flow, s4u::Host* from, s4u::Host* to, double* ended) {
    s4u::Mailbox* mailbox = s4u::Mailbox::by_name(to->get_name());
    const double run_start = s4u::Engine::get_clock();
    s4u::Actor::create("sender", from, [&flow, mailbox, run_start] {
      s4u::this_actor::sleep_until(run_start + seconds(flow.start));
      int payload = 0;
      const s4u::CommPtr comm = mailbox->put_init(&payload, flow.bytes);
      if (flow.bound < unbounded) comm->set_rate(flow.bound);
      comm->wait();
    });
    s4u::Actor::create("receiver", to, [mailbox, run_start, ended] {
      mailbox->get<int>();
      *ended = s4u::Engine::get_clock() - run_start;
    });
  }

  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
  }

  std::vector<std::string> words_ = simgrid_words();
  std::vector<char*> arguments_ = pointers(words_);
  int argument_count_ = static_cast<int>(words_.size());
  s4u::Engine engine_{&argument_count_, arguments_.data()};
  std::vector<std::vector<s4u::Host*>> hosts_;  // for each zone the sender, then the receiver of each flow
};

// Ends agree within 1e-9 of the flow's time: c3sim rounds each end up to a picosecond, which is 1.3e-10 of the shortest
// possible time, 0.25 GB at 32 GB/s.
TEST(SimGrid, EndsEveryFlowAtTheSameTimeOnAHundredRandomTopologies) {
  std::vector<Topology> topologies;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) topologies.push_back(random_topology(seed));
  SimGridZones zones(topologies);
  std::size_t flows = 0;
  std::size_t slowed = 0;
  for (std::size_t t = 0; t < topologies.size(); ++t) {
    const std::vector<double> ours = c3sim_ends(topologies[t]);
    const std::vector<double> theirs = zones.ends(topologies[t], t);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const Flow& flow = topologies[t].flows[i];
      const double taken = theirs[i] - seconds(flow.start);
      EXPECT_NEAR(ours[i], theirs[i], 1e-9 * taken) << "flow " << i << " of topology " << t;
      ++flows;
      if (taken > 1.01 * seconds_alone(topologies[t], flow)) ++slowed;
    }
  }
  // Flows that had their routes to themselves would prove little.
  EXPECT_GT(flows, 1000U);
  EXPECT_GT(slowed, flows / 2);
}

}  // namespace
}  // namespace c3sim
