// This workload times the fluid engine and compares it with others: flows run between eight hosts in a full mesh, each
// over a link of its own direction and through the memories of both its hosts.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/resource_network.h"
#include "sim/simulator.h"
#include "sim/units.h"

namespace c3sim::bench {

constexpr std::uint32_t hosts = 8;
constexpr double link_bytes_per_second = 46.55e9;
// One or two of the memories are full at any time and hold back every sixth flow; links hold back the others.
constexpr double memory_bytes_per_second = 400e9;

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
  double bytes;
};

// At most `window` flows are live; as one ends the next one starts. They come in rounds: the first `window` flows of a
// round start together when the last flow of the round before has ended. Without rounds two simulators could not be
// compared for long, since the system is chaotic: flows that start a picosecond apart end 500 ps apart a thousand flows
// later.
struct Workload {
  const char* name;
  std::size_t rounds;
  std::size_t flows_per_round;
  std::size_t window;

  std::size_t flows() const { return rounds * flows_per_round; }
};
constexpr Workload workloads[] = {{"56_live", 200, 500, 56}, {"100000_live", 1, 100'000, 100'000}};

// Draws pairs and sizes (1 to 64 MB) from a fixed linear congruential generator (Knuth's MMIX).
inline std::vector<Flow> make_flows(const Workload& workload) {
  std::uint64_t state = 20260;
  const auto draw = [&state](std::uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((state >> 33) % below);
  };
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < workload.flows(); ++i) {
    const std::uint32_t from = draw(hosts);
    const std::uint32_t to = (from + 1 + draw(hosts - 1)) % hosts;
    flows.push_back({from, to, 1e6 + draw(63'000'000)});
  }
  return flows;
}

// Runs a workload in the fluid engine.
class MeshRun {
 public:
  MeshRun(const Workload& workload, const std::vector<Flow>& flows)
      : workload_(workload), flows_(flows), ended_(flows.size()) {
    for (std::uint32_t host = 0; host < hosts; ++host) network_.add_resource({"memory", memory_bytes_per_second, {}});
    for (std::uint32_t link = 0; link < hosts * hosts; ++link) {
      network_.add_resource({"link", link_bytes_per_second, {}});
      specs_.emplace_back();
      specs_.back().usages = {{hosts + link, 1.0}, {link / hosts, 1.0}, {link % hosts, 1.0}};
    }
    start_round();
    simulator_.run();
  }
  // Returns when each flow ended, in seconds from the start of its round.
  const std::vector<double>& ended() const { return ended_; }

 private:
  void start_round() {
    round_start_ = simulator_.now();
    round_end_ = next_ + workload_.flows_per_round;
    for (std::size_t i = 0; i < std::min(workload_.window, workload_.flows_per_round); ++i) start_next();
  }

  void start_next() {
    const std::size_t flow = next_++;
    sim::ActivitySpec& spec = specs_[flows_[flow].from * hosts + flows_[flow].to];
    spec.amount = flows_[flow].bytes;
    ++live_;
    network_.start(spec, [this, flow] { end(flow); });
  }

  void end(std::size_t flow) {
    ended_[flow] = sim::to_seconds(simulator_.now() - round_start_).value();
    --live_;
    if (next_ < round_end_) {
      start_next();
    } else if (live_ == 0 && next_ < flows_.size()) {
      start_round();
    }
  }

  const Workload& workload_;
  const std::vector<Flow>& flows_;
  std::vector<double> ended_;
  std::vector<sim::ActivitySpec> specs_;  // indexed by link
  std::size_t next_ = 0;
  std::size_t round_end_ = 0;
  std::size_t live_ = 0;
  sim::Time round_start_{0};
  sim::Simulator simulator_;
  sim::ResourceNetwork network_{simulator_};
};

inline void time_mesh(benchmark::State& state, const Workload& workload) {
  const std::vector<Flow> flows = make_flows(workload);
  for (auto _ : state) {
    const MeshRun run(workload, flows);
    benchmark::DoNotOptimize(run.ended().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}

}  // namespace c3sim::bench
