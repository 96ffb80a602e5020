// Measures how many flows per second of real time the fluid engine gets through.
#include "tests/bench/mesh_flows.h"

namespace {

using namespace c3sim::bench;

BENCHMARK_CAPTURE(time_mesh, 56_live, workloads[0])->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(time_mesh, 100000_live, workloads[1])->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
