#include "study/c3/sublayer_study.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <utility>

#include "models/kernels/gemm_plan.h"
#include "study/program/operation.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

using models::Backend;
using models::CollectiveKind;

models::PlatformSpec node_of(models::PlatformSpec platform, int gpus) {
  platform.gpus = platform.fabric.gpus = platform.gpu.sdma.gpus = gpus;
  if (platform.gpu.sdma.engine_map.size() < static_cast<std::size_t>(gpus)) platform.gpu.sdma.engine_map.clear();
  platform.gpu.memory.metered = true;
  return platform;
}

models::PlatformSpec machine_for(models::PlatformSpec platform, const FusedStrategy& strategy) {
  platform.gpu.memory.near_memory = strategy.near_memory;
  platform.gpu.memory.arbitration = strategy.arbitration;
  return platform;
}

// The number of pieces is a power of two, which divides most numbers of tokens.
models::FusedSpec fused_by(const FusedStrategy& strategy, const models::GemmShape& shape,
                           const models::PlatformSpec& platform) {
  models::FusedSpec fused = strategy.fused;
  fused.gemm = shape;
  const auto of_shard = static_cast<std::uint64_t>(models::plan_gemm(platform.gpu, shape).pieces() / platform.gpus);
  fused.pieces = static_cast<std::int64_t>(std::bit_ceil(of_shard / static_cast<std::uint64_t>(strategy.tiles)));
  return fused;
}

Schedule one_after_another(const std::vector<Work>& works) {
  Schedule schedule;
  for (const Work& work : works) {
    schedule.push_back(operation_of(work));
    if (schedule.size() > 1) schedule.back().after = {schedule.size() - 2};
  }
  return schedule;
}

// Returns the time of a fused reduce-scatter without a GEMM: all of its tiles are stored at once.
sim::Time without_product(models::PlatformSpec platform, models::FusedSpec fused) {
  platform.gpu.memory.tracker.entries = fused.gemm.m * fused.gemm.n;
  fused.gemm.k = 1;
  return Testbed(std::move(platform)).alone(fused);
}

// Runs one sub-layer on machines of its own.
SublayerResult run_sublayer(const models::PlatformSpec& platform, const SublayerStudy& study, const Sublayer& sublayer,
                            std::int64_t tokens) {
  Testbed today(node_of(platform, sublayer.gpus));
  const models::GemmShape shape = sublayer.shape(tokens);
  auto of = [spec = models::collective_of({.gemm = shape}, sublayer.gpus)](CollectiveKind kind) mutable {
    spec.kind = kind;
    return spec;
  };
  SublayerResult result;
  result.sublayer = sublayer;
  result.tokens = tokens;
  result.gemm = today.alone(shape);
  result.reduce_scatter = today.alone(of(CollectiveKind::reduce_scatter));
  result.all_gather = today.alone(of(CollectiveKind::all_gather));
  result.all_reduce = today.alone(of(CollectiveKind::all_reduce));
  const Timeline& sequential =
      today.run(one_after_another({shape, of(CollectiveKind::reduce_scatter), of(CollectiveKind::all_gather)}));
  result.sequential = sequential.makespan();
  result.moved = sequential.moved.value();
  for (const FusedStrategy& strategy : study.strategies) {
    Testbed machine(machine_for(today.platform(), strategy));
    const models::FusedSpec fused = fused_by(strategy, shape, machine.platform());
    const Timeline& timeline = machine.run(one_after_another({fused, of(CollectiveKind::all_gather)}));
    result.fused.push_back({timeline.makespan(), timeline.moved.value()});
    if (result.fused.size() == 1) result.near_memory_reduce_scatter = without_product(machine.platform(), fused);
  }
  const models::GpuSpec& gpu = today.platform().gpu;
  for (const int cus : study.splits) {
    models::CollectiveSpec all_reduce = of(CollectiveKind::all_reduce);
    all_reduce.cus = all_reduce.channels = cus;
    const models::CuMask others{cus / gpu.memory.xcds, gpu.cus_per_xcd};
    result.splits.push_back({today.alone(shape, others), today.alone(all_reduce)});
  }
  return result;
}

using One = SublayerResult;

// Returns the columns from which published figures may be computed: times in seconds, bytes at HBM.
std::vector<Shown<One>> facts_of(const SublayerStudy& study) {
  const auto seconds = [](auto of) {
    return [of](const One& one) { return sim::to_seconds(std::invoke(of, one)).value(); };
  };
  std::vector<Shown<One>> facts;
  const auto add = [&facts](const std::string& key, auto of) { facts.push_back({{key, key, ""}, of}); };
  add("gpus", [](const One& one) { return one.sublayer.gpus; });
  add("large", [](const One& one) { return one.sublayer.large; });
  add("tokens", &One::tokens);
  add("gemm_s", seconds(&One::gemm));
  add("reduce_scatter_s", seconds(&One::reduce_scatter));
  add("all_reduce_s", seconds(&One::all_reduce));
  add("gemm_and_all_reduce_s", seconds([](const One& one) { return one.gemm + one.all_reduce; }));
  add("near_memory_s", seconds(&One::near_memory_reduce_scatter));
  add("ideal_speedup", &One::ideal_speedup);
  add("sequential_s", seconds(&One::sequential));
  add("sequential_read", [](const One& one) { return one.moved.hbm_reads; });
  add("sequential_written", [](const One& one) { return one.moved.hbm_writes; });
  for (std::size_t place = 0; place < study.strategies.size(); ++place) {
    const std::string& name = study.strategies[place].name;
    add(name + "_s", seconds([place](const One& one) { return one.fused[place].time; }));
    add(name + "_read", [place](const One& one) { return one.fused[place].moved.hbm_reads; });
    add(name + "_written", [place](const One& one) { return one.fused[place].moved.hbm_writes; });
  }
  for (std::size_t place = 0; place < study.splits.size(); ++place) {
    const std::string cus = std::to_string(study.splits[place]);
    add("gemm_beside_" + cus + "_s", seconds([place](const One& one) { return one.splits[place].gemm; }));
    add("all_reduce_on_" + cus + "_s", seconds([place](const One& one) { return one.splits[place].all_reduce; }));
  }
  return facts;
}

std::vector<FusedStrategy> read_fused_strategies(sim::Section section, const models::PlatformSpec& platform) {
  std::vector<FusedStrategy> strategies;
  for (const std::string& name : section.keys()) {
    sim::Section one = section.section(name);
    FusedStrategy& strategy = strategies.emplace_back();
    strategy.name = name;
    strategy.fused.trigger = one.choice<models::TriggerChoice>("trigger", sim::choices_of<models::TriggerChoice>());
    strategy.fused.path =
        one.choice<models::FusedPath>("path", sim::choices_of<models::FusedPath>(), models::FusedPath::direct);
    strategy.fused.stores = one.flag("stores", false);
    strategy.tiles = one.integer("tiles", 1, 1 << 20);
    strategy.near_memory =
        one.choice<models::NearMemory>("near_memory", sim::choices_of<models::NearMemory>(), models::NearMemory::none);
    strategy.arbitration = one.choice<models::Arbitration>("arbitration", sim::choices_of<models::Arbitration>(),
                                                           models::Arbitration::off);
    const models::MemorySpec memory = machine_for(platform, strategy).gpu.memory;
    if (const std::string why = memory.why_no_near_memory(); !why.empty()) one.fault("near_memory", why);
    if (const std::string why = memory.why_no_arbitration(); !why.empty()) one.fault("arbitration", why);
  }
  return strategies;
}

std::vector<Sublayer> read_sublayers(sim::Section& root) {
  std::vector<Sublayer> sublayers;
  sim::Section models = root.section("models");
  sim::Section products = root.section("sublayers");
  constexpr auto one_is_needed = "at least one is needed";
  if (models.keys().empty() && root.is_sound("models")) root.fault("models", one_is_needed);
  if (products.keys().empty() && root.is_sound("sublayers")) root.fault("sublayers", one_is_needed);
  std::vector<std::pair<std::string, std::int64_t>> contractions;
  for (const std::string& name : products.keys()) contractions.emplace_back(name, products.integer(name, 1, 64));
  for (const std::string& name : models.keys()) {
    sim::Section model = models.section(name);
    const std::int64_t hidden = model.integer("hidden", 1, models::GemmShape::largest_extent / 64);
    const bool large = model.flag("large", false);
    const std::vector<int> nodes = model.integers("gpus", 2, 64);
    if (nodes.empty() && model.is_sound("gpus")) model.fault("gpus", "at least one number of GPUs is needed");
    for (const int gpus : nodes) {
      if (hidden % gpus != 0) {
        model.fault("gpus", fmt::format("{} features do not divide by {} GPUs", hidden, gpus));
        continue;
      }
      for (const auto& [product, contraction] : contractions) {
        sublayers.push_back({name, product, large, hidden, contraction, gpus});
      }
    }
  }
  return sublayers;
}

ResultTable table_of_sublayers(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  std::vector<Shown<One>> shown{{{"model", "model", ""}, [](const One& one) { return one.sublayer.model; }},
                                {{"gpus", "GPUs", ""}, [](const One& one) { return one.sublayer.gpus; }},
                                {{"sublayer", "sub-layer", ""}, [](const One& one) { return one.sublayer.name; }},
                                {{"tokens", "tokens", ""}, &One::tokens},
                                {{"gemm_us", "GEMM", "us"}, &One::gemm},
                                {{"reduce_scatter_us", "reduce-scatter", "us"}, &One::reduce_scatter},
                                {{"all_gather_us", "all-gather", "us"}, &One::all_gather},
                                {{"sequential_us", "one after the other", "us"}, &One::sequential},
                                {{"ideal_speedup", "ideal", "", 3}, &One::ideal_speedup}};
  for (std::size_t place = 0; place < study.strategies.size(); ++place) {
    const std::string& name = study.strategies[place].name;
    shown.push_back(
        {{name + "_speedup", name, "", 3}, [place](const One& one) { return one.speedup(one.fused[place].time); }});
  }
  return table_of(results, shown);
}

// Shows the lowest and the highest figure over the numbers of tokens.
ResultTable table_of_published(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  const ResultTable facts = table_of(results, facts_of(study));
  ResultTable table({{"metric", "metric", ""},
                     {"published", "published", "", 3},
                     {"low", "c3sim, lowest", "", 3},
                     {"high", "highest, by tokens", "", 3}});
  for (const SublayerStudy::Published& published : study.published) {
    const std::vector<double> ends = figure_of(published.figure, facts);
    table.add_row({published.metric, published.value, ends.empty() ? Cell() : Cell(ends.front()),
                   ends.empty() ? Cell() : Cell(ends.back())});
  }
  return table;
}

ResultTable table_of_bytes(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  struct Schedule {
    const One& one;
    std::string name;
    models::MovedBytes moved;
  };
  std::vector<Schedule> schedules;
  for (const One& one : results) {
    schedules.push_back({one, "sequential", one.moved});
    for (std::size_t place = 0; place < study.strategies.size(); ++place) {
      schedules.push_back({one, study.strategies[place].name, one.fused[place].moved});
    }
  }
  using S = const Schedule&;
  constexpr double mega = 1e6;
  return table_of<Schedule>(schedules,
                            {{{"model", "model", ""}, [](S s) { return s.one.sublayer.model; }},
                             {{"gpus", "GPUs", ""}, [](S s) { return s.one.sublayer.gpus; }},
                             {{"sublayer", "sub-layer", ""}, [](S s) { return s.one.sublayer.name; }},
                             {{"tokens", "tokens", ""}, [](S s) { return s.one.tokens; }},
                             {{"schedule", "schedule", ""}, [](S s) { return s.name; }},
                             {{"l2_MB", "L2", "MB"}, [](S s) { return s.moved.l2 / mega; }},
                             {{"hbm_read_MB", "HBM, read", "MB"}, [](S s) { return s.moved.hbm_reads / mega; }},
                             {{"hbm_written_MB", "HBM, written", "MB"}, [](S s) { return s.moved.hbm_writes / mega; }},
                             {{"updated_MB", "added near memory", "MB"}, [](S s) { return s.moved.updates / mega; }},
                             {{"links_MB", "links", "MB"}, [](S s) { return s.moved.links / mega; }}});
}

}  // namespace

SublayerStudy read_sublayer_study(sim::Section root, const Testbed& testbed) {
  SublayerStudy study;
  study.name = root.name("name");
  for (const int tokens : root.integers("tokens", 1, 1 << 24)) study.tokens.push_back(tokens);
  if (study.tokens.empty()) root.fault("tokens", "at least one number of tokens is needed");
  study.sublayers = read_sublayers(root);
  study.strategies = read_fused_strategies(root.section("fused"), testbed.platform());
  const models::GpuSpec& gpu = testbed.platform().gpu;
  study.splits = root.integers("cus_apart", 1, gpu.cus() - gpu.memory.xcds);
  sim::Section published = root.section("published");
  published.text("source");  // for people
  sim::Section metrics = published.section("metrics");
  const ResultTable facts = table_of(std::vector<One>(), facts_of(study));
  for (const std::string& name : metrics.keys()) {
    sim::Section metric = metrics.section(name);
    study.published.push_back({name, metric.number("paper", -1e3, 1e3), read_table_figure(metric)});
    study.published.back().figure.by = "tokens";
    const std::string why = why_no_figure(study.published.back().figure, facts.columns());
    if (!why.empty() && metric.is_sound("of")) metric.fault("of", why);
  }
  if (!root.is_sound("tokens") || !root.is_sound("models")) return study;
  for (const FusedStrategy& strategy : study.strategies) {
    for (const Sublayer& sublayer : study.sublayers) {
      for (const std::int64_t tokens : study.tokens) {
        const models::PlatformSpec machine = machine_for(node_of(testbed.platform(), sublayer.gpus), strategy);
        const std::string reason = models::why_impossible(fused_by(strategy, sublayer.shape(tokens), machine), machine);
        if (reason.empty() || !root.is_sound("fused")) continue;
        root.fault("fused", fmt::format("{}: {} of {} on {} GPUs: {}", strategy.name, sublayer.name, sublayer.model,
                                        sublayer.gpus, reason));
      }
    }
  }
  return study;
}

std::vector<SublayerResult> run_sublayer_study(const models::PlatformSpec& platform, const SublayerStudy& study,
                                               const Progress& progress, int jobs) {
  std::vector<SublayerResult> results(study.sublayers.size() * study.tokens.size());
  for_each_index(
      results.size(),
      [&](std::size_t index) {
        const Sublayer& sublayer = study.sublayers[index % study.sublayers.size()];
        const std::int64_t tokens = study.tokens[index / study.sublayers.size()];
        results[index] = run_sublayer(platform, study, sublayer, tokens);
      },
      progress, jobs);
  return results;
}

Results sublayer_results(const SublayerStudy& study, const std::vector<SublayerResult>& results, std::string platform) {
  return {.platform = std::move(platform),
          .tables = {{"results", "", table_of_sublayers(study, results)},
                     {"published", "Beside what the paper says", table_of_published(study, results)},
                     {"bytes", "Bytes that one GPU moves, by level", table_of_bytes(study, results), false}},
          .title = study.name};
}

}  // namespace c3sim::study
