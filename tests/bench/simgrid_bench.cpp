// Runs the fluid engine and SimGrid 3.32 on the same flows: shows flows per second of real time and, for every
// workload, whether both find the same finishing times. The program ends with 1 if they do not.
//
// SimGrid runs its network model CM02 without TCP corrections, in its fastest mode; a memory is a link that the routes
// of its host share. Each place in the window is an actor that sends one flow after the other.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "tests/bench/mesh_flows.h"

using namespace c3sim;

namespace {

namespace s4u = simgrid::s4u;

// This is the mesh in SimGrid. An engine exists once per process, so all runs share it and time from their start.
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

  // Returns when each flow ended, in seconds from the start of its round.
  std::vector<double> run(const bench::Workload& workload, const std::vector<bench::Flow>& flows) {
    Progress progress{workload, flows, std::vector<double>(flows.size()), 0};
    const s4u::BarrierPtr round = s4u::Barrier::create(static_cast<unsigned>(workload.window));
    for (std::size_t place = 0; place < workload.window; ++place) {
      s4u::Actor::create("place", hosts_[0], [this, &progress, round] { fill_place(progress, *round); });
    }
    engine_.run();
    return progress.ended;
  }

 private:
  struct Progress {
    const bench::Workload& workload;
    const std::vector<bench::Flow>& flows;
    std::vector<double> ended;
    std::size_t next;
  };

  // A place of the window sends one flow after the other, and waits for the other places at the end of a round.
  void fill_place(Progress& progress, s4u::Barrier& round) {
    for (std::size_t r = 1; r <= progress.workload.rounds; ++r) {
      const double start = s4u::Engine::get_clock();
      while (progress.next < r * progress.workload.flows_per_round) {
        const std::size_t flow = progress.next++;
        const bench::Flow& sent = progress.flows[flow];
        s4u::Comm::sendto(hosts_[sent.from], hosts_[sent.to], static_cast<std::uint64_t>(sent.bytes));
        progress.ended[flow] = s4u::Engine::get_clock() - start;
      }
      round.wait();
    }
  }

  static const s4u::Link* link(s4u::NetZone& zone, const std::string& name, double bytes_per_second) {
    return zone.create_link(name, bytes_per_second)->set_latency(0)->seal();
  }

  s4u::Engine engine_;
  std::vector<s4u::Host*> hosts_;
};

// Compares the finishing times here, as a second run with many live flows would take minutes more.
void time_simgrid(benchmark::State& state, const bench::Workload& workload, SimGridMesh& mesh, double& worst) {
  const std::vector<bench::Flow> flows = bench::make_flows(workload);
  std::vector<double> ended;
  for (auto _ : state) ended = mesh.run(workload, flows);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));

  const bench::MeshRun ours(workload, flows);
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
  std::vector<std::string> words = {"simgrid", "--cfg=network/model:CM02", "--cfg=network/optim:Full",
                                    "--cfg=network/latency-factor:1", "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/weight-S:0", "--cfg=network/TCP-gamma:0",
                                    "--cfg=network/crosstraffic:0",
                                    // The default is a thousand times coarser: as coarse as the gaps between ends.
                                    "--cfg=surf/precision:1e-12", "--cfg=contexts/stack-size:16",
                                    "--cfg=contexts/guard-size:0", "--log=root.threshold:warning"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  SimGridMesh mesh(&count, arguments.data());

  double worst = 0.0;
  for (const bench::Workload& workload : bench::workloads) {
    const std::string name = workload.name;
    benchmark::RegisterBenchmark(("c3sim/" + name).c_str(), bench::time_mesh, std::cref(workload))
        ->Unit(benchmark::kMillisecond);
    // One iteration is enough, as it takes long.
    benchmark::RegisterBenchmark(("simgrid/" + name).c_str(), time_simgrid, std::cref(workload), std::ref(mesh),
                                 std::ref(worst))
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
  if (worst > 1e-6) std::fprintf(stderr, "finishing times differ by %g of themselves\n", worst);
  return worst > 1e-6 ? 1 : 0;
}
