// The fluid engine beside SimGrid 3.32 on the same flows: flows per second of real time and, for every workload,
// whether both find the same finishing times. Ends with 1 if they do not.
//
// SimGrid runs its network model CM02 without TCP corrections, in its fastest mode; a memory is a link that the routes
// of its host share. Each place in the window is an actor that sends one flow after the other.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "tests/bench/mesh_flows.h"

namespace {

namespace s4u = simgrid::s4u;

// The mesh in SimGrid. An engine exists once per process, so that all runs share one and measure time from their start.
class SimGridMesh {
 public:
  SimGridMesh(int* argc, char** argv) : engine_(argc, argv) {
    s4u::NetZone* zone = s4u::create_full_zone("mesh");
    std::vector<const s4u::Link*> memories;
    for (std::uint32_t host = 0; host < bench::hosts; ++host) {
      hosts_.push_back(zone->create_host("host" + std::to_string(host), 1e9));
      memories.push_back(link(*zone, "memory" + std::to_string(host), bench::memory_bytes_per_second));
    }
    for (std::uint32_t from = 0; from < bench::hosts; ++from) {
      for (std::uint32_t to = 0; to < bench::hosts; ++to) {
        if (from == to) continue;
        const s4u::Link* wire =
            link(*zone, "link" + std::to_string(from) + "_" + std::to_string(to), bench::link_bytes_per_second);
        const std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(memories[from]), s4u::LinkInRoute(wire),
                                                  s4u::LinkInRoute(memories[to])};
        zone->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr, nullptr, route, false);
      }
    }
    zone->seal();
  }

  // When each flow ended, in seconds from the start of this run.
  std::vector<double> run(const std::vector<bench::Flow>& flows, std::size_t window) {
    std::vector<double> ended(flows.size());
    std::size_t next = 0;
    const double begin = s4u::Engine::get_clock();
    for (std::size_t place = 0; place < std::min(window, flows.size()); ++place) {
      s4u::Actor::create("place", hosts_[0], [this, &flows, &ended, &next, begin] {
        while (next < flows.size()) {
          const std::size_t flow = next++;
          s4u::Comm::sendto(hosts_[flows[flow].from], hosts_[flows[flow].to],
                            static_cast<std::uint64_t>(flows[flow].bytes));
          ended[flow] = s4u::Engine::get_clock() - begin;
        }
      });
    }
    engine_.run();
    return ended;
  }

 private:
  static const s4u::Link* link(s4u::NetZone& zone, const std::string& name, double bytes_per_second) {
    return zone.create_link(name, bytes_per_second)->set_latency(0)->seal();
  }

  s4u::Engine engine_;
  std::vector<s4u::Host*> hosts_;
};

struct Workload {
  const char* name;
  std::size_t flows;
  std::size_t window;
};
constexpr Workload workloads[] = {{"100000_flows_56_live", 100'000, 56}, {"100000_flows_at_once", 100'000, 100'000}};

void time_c3sim(benchmark::State& state, Workload workload) {
  const std::vector<bench::Flow> flows = bench::make_flows(workload.flows);
  for (auto _ : state) {
    const bench::MeshRun run(flows, workload.window);
    benchmark::DoNotOptimize(run.ended().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}

// Compares in the same breath: SimGrid's run with many live flows takes minutes.
void time_simgrid(benchmark::State& state, Workload workload, SimGridMesh& mesh, double& worst) {
  const std::vector<bench::Flow> flows = bench::make_flows(workload.flows);
  std::vector<double> ended;
  for (auto _ : state) ended = mesh.run(flows, workload.window);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));

  const bench::MeshRun ours(flows, workload.window);
  double difference = 0.0;
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    difference = std::max(difference, std::abs(ours.ended()[flow] / ended[flow] - 1.0));
  }
  state.counters["worst_difference"] = difference;
  worst = std::max(worst, difference);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> words = {
      "simgrid", "--cfg=network/model:CM02", "--cfg=network/optim:Full", "--cfg=network/latency-factor:1",
      "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0", "--cfg=network/TCP-gamma:0",
      "--cfg=network/crosstraffic:0",
      // A thousandth of its usual grain, which is as coarse as the gaps between ends.
      "--cfg=surf/precision:1e-12", "--cfg=contexts/stack-size:16", "--log=root.threshold:warning"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  SimGridMesh mesh(&count, arguments.data());

  double worst = 0.0;
  for (const Workload& workload : workloads) {
    const std::string name = workload.name;
    benchmark::RegisterBenchmark(("c3sim/" + name).c_str(), time_c3sim, workload)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("simgrid/" + name).c_str(), time_simgrid, workload, std::ref(mesh), std::ref(worst))
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
  if (worst > 1e-6) std::fprintf(stderr, "finishing times differ by %g of themselves\n", worst);
  return worst > 1e-6 ? 1 : 0;
}
