// What it costs to ask for a collective: all SDMA variants over the sizes of DMA-Latte, and one large against one
// small.
#include <benchmark/benchmark.h>

#include <vector>

#include "study/run/platform_file.h"
#include "tests/study/run_answers.h"

using namespace c3sim;

namespace {

const models::PlatformSpec& mi300x() {
  static const study::Platform platform = study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {});
  return platform.spec;
}

models::CollectiveSpec all_gather(models::SdmaVariant variant, bool prelaunch, double bytes) {
  models::CollectiveSpec spec;
  spec.backend = models::Backend::sdma;
  spec.variant = variant;
  spec.prelaunch = prelaunch;
  spec.bytes = sim::Bytes(bytes);
  return spec;
}

// 22 sizes from 1 KiB to 2 GiB, three variants, with and without prelaunch: 132 runs.
void all_variants(benchmark::State& state) {
  using enum models::SdmaVariant;
  std::vector<models::CollectiveSpec> specs;
  for (const auto variant : {pcpy, bcst, b2b}) {
    for (const bool prelaunch : {false, true}) {
      for (int i = 0; i < 22; ++i) specs.push_back(all_gather(variant, prelaunch, 1024.0 * (1 << i)));
    }
  }
  for (auto _ : state) {
    study::Testbed testbed(mi300x());
    benchmark::DoNotOptimize(study::answer_collectives(testbed, specs));
  }
}

// The argument is the size in MiB.
void one_collective(benchmark::State& state) {
  const std::vector specs{
      all_gather(models::SdmaVariant::pcpy, false, 1048576.0 * static_cast<double>(state.range(0)))};
  for (auto _ : state) {
    study::Testbed testbed(mi300x());
    benchmark::DoNotOptimize(study::answer_collectives(testbed, specs));
  }
}

BENCHMARK(all_variants)->Unit(benchmark::kMillisecond);
BENCHMARK(one_collective)->Arg(1)->Arg(16384)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
