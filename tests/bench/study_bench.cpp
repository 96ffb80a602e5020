// Measures how long people wait for answers, and how fast studies, draws and tuning go. Where more than one thread
// works, the CPU time of all threads counts.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "sim/config/config.h"
#include "study/ask/answers.h"
#include "study/explain/explanation.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_study.h"
#include "study/uncertainty/ensemble.h"
#include "tests/config_folders.h"
#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tune/tuning.h"

using namespace c3sim;

namespace {

const models::PlatformSpec& mi300x() {
  static const study::Platform platform = study::mi300x();
  return platform.spec;
}

// Times a question to a testbed that has answered nothing before.
void on_new_testbed(benchmark::State& state, const auto& ask) {
  for (auto _ : state) {
    study::Testbed testbed(mi300x());
    benchmark::DoNotOptimize(ask(testbed));
  }
}

const study::Scenario pair{
    "mb1_896MiB", {8192, 57344, 8192}, models::CollectiveKind::all_gather, sim::Bytes(939524096.0)};

// Asks for one pair under one strategy, and for the two operations alone.
void predict_strategy(benchmark::State& state) {
  on_new_testbed(state,
                 [&](study::Testbed& testbed) { return study::run_strategy(testbed, pair, study::Strategy::c3_base); });
}
BENCHMARK(predict_strategy)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Asks for one pair under every strategy.
void predict_pair(benchmark::State& state) {
  on_new_testbed(state,
                 [&](study::Testbed& testbed) { return study::answer_c3(testbed, pair, study::all_strategies()); });
}
BENCHMARK(predict_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Tells by mechanism why each operation of the pair is slower than alone.
void explain_pair(benchmark::State& state) {
  study::Testbed testbed(mi300x());
  const study::Results results = study::answer_c3(testbed, pair, study::all_strategies());
  for (auto _ : state) benchmark::DoNotOptimize(study::split_slowdowns(mi300x(), results.runs));
}
BENCHMARK(explain_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Runs the study of ConCCL: 30 scenarios under every strategy.
void whole_study(benchmark::State& state) {
  for (auto _ : state) {
    study::Platforms platforms(study::mi300x());
    sim::Config config = sim::Config::from_file(C3SIM_SOURCE_DIR "/configs/studies/conccl.yaml");
    config.root().text("platform");
    const study::SweepStudy asked = study::read_sweep_study(config.root(), platforms, {}, 1000);
    study::MachineCache machines(platforms);
    study::ResultTable points(asked.columns());
    for (std::uint64_t index = 0; index < asked.points.size(); ++index) {
      points.add_row(study::answer_point(asked, machines, index).cells);
    }
    benchmark::DoNotOptimize(study::summarized(asked.summaries, points));
  }
}
BENCHMARK(whole_study)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

models::CollectiveSpec all_gather(models::SdmaVariant variant, bool prelaunch, double bytes) {
  models::CollectiveSpec spec{
      .backend = models::Backend::sdma, .bytes = sim::Bytes(bytes), .variant = variant, .prelaunch = prelaunch};
  return spec;
}

// Runs 22 sizes from 1 KiB to 2 GiB in three variants, with and without prelaunch: 132 runs.
void all_variants(benchmark::State& state) {
  std::vector<models::CollectiveSpec> specs;
  for (const auto variant : {models::SdmaVariant::pcpy, models::SdmaVariant::bcst, models::SdmaVariant::b2b}) {
    for (const bool prelaunch : {false, true}) {
      for (int i = 0; i < 22; ++i) specs.push_back(all_gather(variant, prelaunch, 1024.0 * (1 << i)));
    }
  }
  on_new_testbed(state, [&](study::Testbed& testbed) { return study::answer_collectives(testbed, specs); });
}

// The benchmark's argument is the size in MiB.
void one_collective(benchmark::State& state) {
  const std::vector specs{
      all_gather(models::SdmaVariant::pcpy, false, 1048576.0 * static_cast<double>(state.range(0)))};
  on_new_testbed(state, [&](study::Testbed& testbed) { return study::answer_collectives(testbed, specs); });
}

BENCHMARK(all_variants)->Unit(benchmark::kMillisecond);
BENCHMARK(one_collective)->Arg(1)->Arg(16384)->Unit(benchmark::kMillisecond);

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
  study::Platforms platforms{study::mi300x()};
  std::optional<study::SweepStudy> study;

  Asked() {
    sim::Config config = sim::Config::from_text(c3_study, "bench");
    study = study::read_sweep_study(config.root(), platforms, {}, 1'000'000);
  }
};

// Answers one C3 point on a machine of its own.
void c3_point(benchmark::State& state) {
  const Asked asked;
  study::MachineCache machines(asked.platforms);
  std::uint64_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(study::answer_point(*asked.study, machines, index++));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(c3_point)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Answers 400 C3 points on as many threads as the argument says.
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

// Measures what it costs to keep a point; the argument is the number of points per transaction.
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

// Finds the unanswered rest of a study whose store holds every point except the last.
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

// Measures how many tuning decisions are tried per second.
void tune_pairs(benchmark::State& state) {
  tune::TuningQuestion question;
  for (const std::int64_t m : {2048, 4096, 8192, 16384}) question.gemms.push_back({std::to_string(m), {m, 8192, 8192}});
  question.collectives = {models::CollectiveKind::all_gather};
  question.sizes = {sim::Bytes(16777216.0), sim::Bytes(268435456.0)};
  on_new_testbed(state, [&](study::Testbed& testbed) { return tune::tune(testbed, question); });
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(question.gemms.size() * question.sizes.size()));
}
BENCHMARK(tune_pairs)->Unit(benchmark::kMillisecond);

// Fits a rule to a thousand decisions.
void fit_tree(benchmark::State& state) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  std::vector<tune::TreeCase> cases;
  for (int i = 0; i < 1000; ++i) {
    tune::TreeCase& one = cases.emplace_back();
    one.features = {1.0 + share(random), 1.0 + share(random), 1.0 + share(random)};
    for (int j = 0; j < 30; ++j) one.costs.push_back(share(random));
    one.group = std::to_string(i);
  }
  for (auto _ : state) benchmark::DoNotOptimize(tune::fit_tree(cases));
}
BENCHMARK(fit_tree)->Unit(benchmark::kMillisecond);

// Returns the repository's mi300x with an error of 1 % in six of its parameters, and a model that is off by 3 %.
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

// Draws platforms and simulates nothing.
void draw_platforms(benchmark::State& state) {
  const study::Platform platform = uncertain();
  for (auto _ : state) benchmark::DoNotOptimize(study::Ensemble(platform, {draws, 1}).size());
  count_draws(state);
}
BENCHMARK(draw_platforms)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Finds the intervals of a pair under one strategy.
void interval_of_pair(benchmark::State& state) {
  const study::Platform platform = uncertain();
  study::Testbed testbed(platform.spec);
  const auto answer = study::ask(testbed, study::C3Trial{pair, study::Strategy::c3_base});
  for (auto _ : state) {
    auto with_intervals = answer;
    study::add_intervals(with_intervals, study::Ensemble(platform, {draws, 1}), platform.spec);
    benchmark::DoNotOptimize(with_intervals.intervals);
  }
  count_draws(state);
}
BENCHMARK(interval_of_pair)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
