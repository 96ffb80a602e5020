// How many flows per second of real time the fluid engine gets through.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tests/bench/mesh_flows.h"

using namespace c3sim;

namespace {

void mesh(benchmark::State& state, const bench::Workload& workload) {
  const std::vector<bench::Flow> flows = bench::make_flows(workload);
  for (auto _ : state) {
    const bench::MeshRun run(workload, flows);
    benchmark::DoNotOptimize(run.ended().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}

BENCHMARK_CAPTURE(mesh, 56_live, bench::workloads[0])->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mesh, 100000_live, bench::workloads[1])->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
