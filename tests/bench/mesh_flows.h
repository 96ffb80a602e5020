// The workload on which the fluid engine is timed and compared: flows between eight hosts in a full mesh, each over a
// link of its own direction and through the memories of both its hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace bench {

constexpr std::uint32_t hosts = 8;
constexpr double link_bytes_per_second = 46.55e9;
// About half of the memories are full at any time, so that flows are held back now by a link, now by a memory.
constexpr double memory_bytes_per_second = 400e9;

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
  double bytes;
};

// Pairs and sizes (1 to 64 MB) from a fixed linear congruential generator (Knuth, MMIX).
inline std::vector<Flow> make_flows(std::size_t count) {
  std::uint64_t state = 20260;
  const auto draw = [&state](std::uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((state >> 33) % below);
  };
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t from = draw(hosts);
    const std::uint32_t to = (from + 1 + draw(hosts - 1)) % hosts;
    flows.push_back({from, to, 1e6 + draw(63'000'000)});
  }
  return flows;
}

// Runs the flows with at most `window` of them live, the next one starting as one ends.
class MeshRun {
 public:
  MeshRun(const std::vector<Flow>& flows, std::size_t window) : flows_(flows), ended_(flows.size()) {
    for (std::uint32_t host = 0; host < hosts; ++host) network_.add_resource({"memory", memory_bytes_per_second, {}});
    for (std::uint32_t link = 0; link < hosts * hosts; ++link) {
      network_.add_resource({"link", link_bytes_per_second, {}});
      specs_.emplace_back();
      specs_.back().usages = {{hosts + link, 1.0}, {link / hosts, 1.0}, {link % hosts, 1.0}};
    }
    for (std::size_t i = 0; i < window && i < flows_.size(); ++i) start_next();
    simulator_.run();
  }
  // When each flow ended, in seconds.
  const std::vector<double>& ended() const { return ended_; }
  const sim::ResourceNetwork& network() const { return network_; }

 private:
  void start_next() {
    const std::size_t flow = next_++;
    sim::ActivitySpec& spec = specs_[flows_[flow].from * hosts + flows_[flow].to];
    spec.amount = flows_[flow].bytes;
    network_.start(spec, [this, flow] {
      ended_[flow] = sim::to_seconds(simulator_.now()).value();
      if (next_ < flows_.size()) start_next();
    });
  }

  const std::vector<Flow>& flows_;
  std::vector<double> ended_;
  std::vector<sim::ActivitySpec> specs_;  // by link
  std::size_t next_ = 0;
  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
};

}  // namespace bench
