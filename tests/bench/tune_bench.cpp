// How long tuning takes: decisions tried per second, and a rule fitted to a thousand of them.
#include <benchmark/benchmark.h>

#include <random>

#include "study/run/platform_file.h"
#include "study/tune/tuning.h"

namespace {

using namespace c3sim;

void BM_TunePairs(benchmark::State& state) {
  const models::PlatformSpec platform =
      study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}).spec;
  study::TuningQuestion question;
  for (const std::int64_t m : {2048, 4096, 8192, 16384}) {
    question.gemms.push_back({std::to_string(m), {m, 8192, 8192}});
  }
  question.collectives = {models::CollectiveKind::all_gather};
  question.sizes = {sim::Bytes(16777216.0), sim::Bytes(268435456.0)};
  for (auto _ : state) {
    study::Testbed testbed(platform);
    benchmark::DoNotOptimize(study::tune(testbed, question));
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(question.gemms.size() * question.sizes.size()));
}
BENCHMARK(BM_TunePairs)->Unit(benchmark::kMillisecond);

void BM_FitTree(benchmark::State& state) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  study::TreeCases cases;
  for (int i = 0; i < 1000; ++i) {
    cases.features.push_back({1.0 + share(random), 1.0 + share(random), 1.0 + share(random)});
    std::vector<double>& costs = cases.costs.emplace_back();
    for (int j = 0; j < 30; ++j) costs.push_back(share(random));
    cases.groups.push_back(std::to_string(i));
  }
  for (auto _ : state) benchmark::DoNotOptimize(study::fit_tree(cases));
}
BENCHMARK(BM_FitTree)->Unit(benchmark::kMillisecond);

}  // namespace
