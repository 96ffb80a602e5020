// How long people wait for answers about C3. CPU time of all threads counts.
#include <benchmark/benchmark.h>

#include "sim/config/config.h"
#include "study/c3/c3_study.h"
#include "study/explain/slowdown.h"
#include "study/run/platform_file.h"
#include "tests/study/run_answers.h"

using namespace c3sim;

namespace {

study::Platform mi300x() { return study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}); }

const study::Scenario pair{
    "mb1_896MiB", {8192, 57344, 8192}, models::CollectiveKind::all_gather, sim::Bytes(939524096.0)};

// One pair under one strategy, and the two operations alone.
void predict_strategy(benchmark::State& state) {
  const models::PlatformSpec platform = mi300x().spec;
  for (auto _ : state) {
    study::Testbed testbed(platform);
    benchmark::DoNotOptimize(study::run_strategy(testbed, pair, study::Strategy::c3_base));
  }
}
BENCHMARK(predict_strategy)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// One pair under every strategy.
void predict_pair(benchmark::State& state) {
  const models::PlatformSpec platform = mi300x().spec;
  for (auto _ : state) {
    study::Testbed testbed(platform);
    benchmark::DoNotOptimize(study::answer_c3(testbed, pair, study::all_strategies()));
  }
}
BENCHMARK(predict_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Why each operation of those runs is slower than alone, by mechanism.
void explain_pair(benchmark::State& state) {
  const models::PlatformSpec platform = mi300x().spec;
  study::Testbed testbed(platform);
  const study::Results results = study::answer_c3(testbed, pair, study::all_strategies());
  for (auto _ : state) benchmark::DoNotOptimize(study::split_slowdowns(platform, results.runs));
}
BENCHMARK(explain_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// The study of ConCCL: 30 scenarios under every strategy.
void whole_study(benchmark::State& state) {
  const models::PlatformSpec platform = mi300x().spec;
  for (auto _ : state) {
    study::Testbed testbed(platform);
    sim::Config config = sim::Config::from_file(C3SIM_SOURCE_DIR "/configs/experiments/conccl.yaml");
    benchmark::DoNotOptimize(study::run_study(testbed, study::read_c3_study(config.root(), testbed)));
  }
}
BENCHMARK(whole_study)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
