// How many machines a platform may be are drawn, and asked, in a second. CPU time of all threads counts.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>

#include "study/ask/uncertainty.h"
#include "study/uncertainty/ensemble.h"
#include "tests/config_folders.h"

using namespace c3sim;

namespace {

// The repository's mi300x with an error of 1 % in six of its parameters, and a model that is off by 3 %.
study::Platform uncertain() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "uncertainty_bench.yaml";
  std::ofstream(file) << "base: mi300x\nname: uncertain\n"
                         "fabric:\n  link_rate: {value: 48.5 GB/s, error: 0.485 GB/s}\n"
                         "  latency: {value: 450 ns, error: 4.5 ns}\n"
                         "  reverse_share: {value: 0.0435, error: 0.0004}\n"
                         "  read_cost: {value: 0.963, error: 0.0096}\n"
                         "host: {kernel_launch: {value: 6 us, error: 60 ns}}\n"
                         "gpu: {memory: {queueing_factor: {value: 0.1, error: 0.001}}}\n"
                         "correlations:\n  - {first: fabric.link_rate, second: fabric.latency, correlation: {value: "
                         "0.5, source: bench, kind: fitted, range: [-1, 1]}}\n"
                         "fitted_to:\n  - name: gemm\n    smallest: {value: 1 KiB, source: bench, kind: measured}\n"
                         "    largest: {value: 1 GiB, source: bench, kind: measured}\n"
                         "    spread: {value: 0.03, source: bench, kind: fitted, range: [0, 1]}\n";
  study::Platform platform = study::read_platform(file, {}, folders);
  std::filesystem::remove(file);
  return platform;
}

constexpr std::size_t draws = 100;

void count_draws(benchmark::State& state) {
  state.counters["draws"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * draws, benchmark::Counter::kIsRate);
}

// Platforms alone.
void draw_platforms(benchmark::State& state) {
  const study::Platform platform = uncertain();
  for (auto _ : state) benchmark::DoNotOptimize(study::Ensemble(platform, {draws, 1}).size());
  count_draws(state);
}
BENCHMARK(draw_platforms)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// The intervals of a pair under one strategy.
void interval_of_pair(benchmark::State& state) {
  const study::Platform platform = uncertain();
  study::Testbed testbed(platform.spec);
  const study::C3Trial question{{.name = "mb1_896MiB", .gemm = {8192, 57344, 8192}, .bytes = sim::Bytes(939524096.0)},
                                study::Strategy::c3_base};
  const auto answer = study::ask(testbed, question);
  for (auto _ : state) {
    auto with_intervals = answer;
    study::add_intervals(with_intervals, study::Ensemble(platform, {draws, 1}), platform.spec);
    benchmark::DoNotOptimize(with_intervals.intervals);
  }
  count_draws(state);
}
BENCHMARK(interval_of_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
