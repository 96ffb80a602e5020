// How many flows per second of real time the fluid engine gets through.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "tests/bench/mesh_flows.h"

namespace {

void mesh(benchmark::State& state, std::size_t flow_count, std::size_t window) {
  const std::vector<bench::Flow> flows = bench::make_flows(flow_count);
  for (auto _ : state) {
    const bench::MeshRun run(flows, window);
    benchmark::DoNotOptimize(run.ended().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flow_count));
}

BENCHMARK_CAPTURE(mesh, window_of_56, 100'000, 56)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mesh, all_100000_at_once, 100'000, 100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
