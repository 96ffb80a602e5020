// How fast studies go: points per second with a machine of their own each, what keeping them costs, and how long it
// takes to find out what is left of a large study.
#include <benchmark/benchmark.h>

#include "sim/config/config.h"
#include "study/run/platform_file.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_study.h"

using namespace c3sim;

namespace {

constexpr auto c3_study = R"(name: bench
ask: c3
axes:
  - {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s}
  - {of: gpu.sdma.payload_rate, from: 48 GB/s, to: 128 GB/s}
  - {of: bytes, from: 32MiB, to: 2GiB, scale: log}
  - {of: gemm, values: [8192x8192x8192, 16384x8192x16384]}
  - {of: strategy, values: [c3_base, c3_sp, conccl]}
  - {of: collective, value: all_gather}
sampling: {method: sobol, points: 1000000}
)";

struct Asked {
  study::Platforms platforms{study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {})};
  std::optional<study::SweepStudy> study;

  Asked() {
    sim::Config config = sim::Config::from_text(c3_study, "bench");
    study = study::read_sweep_study(config.root(), platforms, {}, {1'000'000});
  }
};

// A C3 point with a machine of its own.
void c3_point(benchmark::State& state) {
  const Asked asked;
  study::MachineCache machines(asked.platforms);
  std::uint64_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(study::answer_point(*asked.study, machines, index++));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(c3_point)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// 400 such points over so many threads.
void c3_points_by_threads(benchmark::State& state) {
  const Asked asked;
  const study::Distribution distribution{
      .make_answerer =
          [&asked] {
            return [&asked, machines = std::make_shared<study::MachineCache>(asked.platforms)](std::uint64_t index) {
              return study::answer_point(*asked.study, *machines, index);
            };
          },
      .size = 400,
      .jobs = static_cast<int>(state.range(0))};
  for (auto _ : state) {
    study::SweepStore store({}, {"d", "bench", asked.study->columns()});
    study::run(distribution, store);
  }
  state.SetItemsProcessed(400 * state.iterations());
}
BENCHMARK(c3_points_by_threads)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

std::vector<study::PointAnswer> answers(std::uint64_t first, std::uint64_t count) {
  std::vector<study::PointAnswer> answers;
  for (std::uint64_t i = first; i < first + count; ++i) answers.push_back({i, {1.0 / 3.0, 2.0, std::string("c")}, ""});
  return answers;
}
const study::StoreKey key{"d", "bench", {{"a", "a", ""}, {"b", "b", ""}, {"c", "c", ""}}};

// What it costs to keep a point, in transactions of so many.
void keep_points(benchmark::State& state) {
  study::SweepStore store({}, key);
  std::uint64_t next = 0;
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    store.add(answers(next, size));
    next += size;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
}
BENCHMARK(keep_points)->Arg(1)->Arg(64);

// Finding what is left of a study of which every point but the last is there.
void resume(benchmark::State& state) {
  study::SweepStore store({}, key);
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t first = 0; first + 1 < size; first += 10'000) {
    store.add(answers(first, std::min<std::uint64_t>(10'000, size - 1 - first)));
  }
  const study::Distribution distribution{
      .make_answerer = [] { return [](std::uint64_t index) { return answers(index, 1).front(); }; },
      .size = size,
      .jobs = 1};
  for (auto _ : state) study::run(distribution, store);
}
BENCHMARK(resume)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
