// Implements the study of T3 (arXiv 2401.16677): sub-layers of transformers under tensor parallelism. Each is a GEMM
// whose result is reduce-scattered, by fused schedules and by ones that split the CUs, compared with the paper's
// figures. As in the paper, the all-gather that completes an all-reduce follows alone, by kernels.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "models/collectives/fused_gemm.h"
#include "models/kernels/gemm.h"
#include "study/c3/paper_study.h"
#include "study/program/operation.h"
#include "study/report/table_of.h"
#include "study/report/table_summary.h"

namespace c3sim::study {

namespace {

using models::CollectiveKind;

constexpr double mega = 1e6;

// The GEMM of a sub-layer on one of `gpus` GPUs has the shape hidden x tokens x (contraction * hidden / gpus).
struct Sublayer {
  std::string model;
  std::string name;
  bool large = false;  // whether the paper has the model only at its largest number of GPUs
  std::int64_t hidden = 0;
  std::int64_t contraction = 1;
  int gpus = 0;

  models::GemmShape shape(std::int64_t tokens) const { return {hidden, tokens, contraction * hidden / gpus}; }
};

// A FusedStrategy is a schedule that fuses GEMM and reduce-scatter, on a machine with the hardware that it needs.
struct FusedStrategy {
  std::string name;
  models::FusedSpec fused;  // without its GEMM
  std::int64_t tiles = 1;   // target number of tiles in a piece; pieces are a power of two
  models::NearMemory near_memory = models::NearMemory::none;
  models::Arbitration arbitration = models::Arbitration::off;
};

struct SublayerStudy {
  std::string name;
  std::vector<std::int64_t> tokens;  // tokens of a step, which the paper does not state
  std::vector<Sublayer> sublayers;
  std::vector<FusedStrategy> strategies;
  std::vector<int> splits;                // CUs for an all-reduce while the GEMM has all others
  std::vector<TableSummary> summaries{};  // of the table of sub-layers
};

struct SublayerRun {
  sim::Time time{0};
  std::optional<models::MovedBytes> moved{};
};

// A SublayerRuns is one sub-layer with all that was run of it, by name: its operations alone ("gemm", "reduce_scatter",
// "all_gather", "all_reduce"; "near_memory", the reduce-scatter fused with a GEMM that takes no time;
// "gemm_beside_8" and "all_reduce_on_8" on split CUs), and schedules whose bytes are counted: "sequential", all three
// operations one after the other by kernels, and each fused strategy.
struct SublayerRuns {
  Sublayer sublayer;
  std::int64_t tokens = 0;
  std::map<std::string, SublayerRun> runs{};

  double seconds(const std::string& run) const { return sim::to_seconds(runs.at(run).time).value(); }
  const models::MovedBytes& moved(const std::string& run) const { return *runs.at(run).moved; }
  // Returns the speedup if GEMM and reduce-scatter ran concurrently without losses.
  double ideal_speedup() const {
    const sim::Time gemm = runs.at("gemm").time;
    const sim::Time scatter = runs.at("reduce_scatter").time;
    const sim::Time gather = runs.at("all_gather").time;
    return sim::to_seconds(gemm + scatter + gather) / sim::to_seconds(std::max(gemm, scatter) + gather);
  }
};

std::string beside(int cus) { return fmt::format("gemm_beside_{}", cus); }
std::string split_to(int cus) { return fmt::format("all_reduce_on_{}", cus); }

std::vector<std::string> schedules_of(const SublayerStudy& study) {
  std::vector<std::string> names{"sequential"};
  for (const FusedStrategy& strategy : study.strategies) names.push_back(strategy.name);
  return names;
}

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
SublayerRuns run_sublayer(const models::PlatformSpec& platform, const SublayerStudy& study, const Sublayer& sublayer,
                          std::int64_t tokens) {
  SublayerRuns ran{sublayer, tokens};
  Testbed today(node_of(platform, sublayer.gpus));
  const models::GemmShape shape = sublayer.shape(tokens);
  const auto of = [&](CollectiveKind kind) {
    models::CollectiveSpec spec = models::collective_of({.gemm = shape}, sublayer.gpus);
    spec.kind = kind;
    return spec;
  };
  const auto run_in_turn = [&ran](const std::string& name, Testbed& machine, const std::vector<Work>& works) {
    const Timeline& timeline = machine.run(one_after_another(works));
    ran.runs[name] = {timeline.makespan(), timeline.moved.value()};
  };
  ran.runs["gemm"] = {today.alone(shape)};
  for (const auto kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
    ran.runs[std::string(models::to_string(kind))] = {today.alone(of(kind))};
  }
  run_in_turn("sequential", today, {shape, of(CollectiveKind::reduce_scatter), of(CollectiveKind::all_gather)});
  for (const FusedStrategy& strategy : study.strategies) {
    Testbed machine(machine_for(today.platform(), strategy));
    const models::FusedSpec fused = fused_by(strategy, shape, machine.platform());
    run_in_turn(strategy.name, machine, {fused, of(CollectiveKind::all_gather)});
    if (!ran.runs.contains("near_memory")) ran.runs["near_memory"] = {without_product(machine.platform(), fused)};
  }
  const models::GpuSpec& gpu = today.platform().gpu;
  for (const int cus : study.splits) {
    models::CollectiveSpec all_reduce = of(CollectiveKind::all_reduce);
    all_reduce.cus = all_reduce.channels = cus;
    ran.runs[beside(cus)] = {today.alone(shape, models::CuMask{cus / gpu.memory.xcds, gpu.cus_per_xcd})};
    ran.runs[split_to(cus)] = {today.alone(all_reduce)};
  }
  return ran;
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

const std::vector<Shown<SublayerRuns>>& shown_names() {
  static const std::vector<Shown<SublayerRuns>> shown{
      {{"model", "model", ""}, [](const SublayerRuns& ran) { return ran.sublayer.model; }},
      {{"gpus", "GPUs", ""}, [](const SublayerRuns& ran) { return ran.sublayer.gpus; }},
      {{"sublayer", "sub-layer", ""}, [](const SublayerRuns& ran) { return ran.sublayer.name; }},
      {{"tokens", "tokens", ""}, &SublayerRuns::tokens}};
  return shown;
}

// Returns the columns of the table of sub-layers; those that text leaves out are for summaries.
std::vector<Shown<SublayerRuns>> shown_of(const SublayerStudy& study) {
  std::vector<Shown<SublayerRuns>> shown = shown_names();
  const auto add = [&shown](const std::string& run, const std::string& heading, bool in_text = true) {
    shown.push_back(
        {{run + "_us", heading, "us", 2, in_text}, [run](const SublayerRuns& ran) { return ran.runs.at(run).time; }});
  };
  const auto add_bytes = [&shown](const std::string& schedule, const char* key, double models::MovedBytes::*bytes) {
    shown.push_back({{schedule + key, schedule + key, "MB", 2, false},
                     [=](const SublayerRuns& ran) { return ran.moved(schedule).*bytes / mega; }});
  };
  shown.push_back({{"large", "large", "", 2, false}, [](const SublayerRuns& ran) { return ran.sublayer.large; }});
  add("gemm", "GEMM");
  add("reduce_scatter", "reduce-scatter");
  add("all_gather", "all-gather");
  add("sequential", "one after the other");
  shown.push_back({{"ideal_speedup", "ideal", "", 3}, &SublayerRuns::ideal_speedup});
  for (const FusedStrategy& strategy : study.strategies) {
    shown.push_back(
        {{strategy.name + "_speedup", strategy.name, "", 3},
         [name = strategy.name](const SublayerRuns& ran) { return ran.seconds("sequential") / ran.seconds(name); }});
    add(strategy.name, strategy.name, false);
  }
  for (const char* const run : {"all_reduce", "near_memory"}) add(run, run, false);
  for (const int cus : study.splits) {
    for (const std::string& run : {beside(cus), split_to(cus)}) add(run, run, false);
  }
  for (const std::string& schedule : schedules_of(study)) {
    add_bytes(schedule, "_read_MB", &models::MovedBytes::hbm_reads);
    add_bytes(schedule, "_written_MB", &models::MovedBytes::hbm_writes);
  }
  return shown;
}

ResultTable table_of_bytes(const SublayerStudy& study, const std::vector<SublayerRuns>& results) {
  std::vector<Column> columns;
  for (const Shown<SublayerRuns>& one : shown_names()) columns.push_back(one.column);
  columns.insert(columns.end(), {{"schedule", "schedule", ""},
                                 {"l2_MB", "L2", "MB"},
                                 {"hbm_read_MB", "HBM, read", "MB"},
                                 {"hbm_written_MB", "HBM, written", "MB"},
                                 {"updated_MB", "added near memory", "MB"},
                                 {"links_MB", "links", "MB"}});
  ResultTable table(std::move(columns));
  for (const SublayerRuns& ran : results) {
    for (const std::string& schedule : schedules_of(study)) {
      std::vector<Cell> row;
      for (const Shown<SublayerRuns>& one : shown_names()) row.push_back(one.cell(ran));
      row.emplace_back(schedule);
      const models::MovedBytes& moved = ran.moved(schedule);
      for (const double bytes : {moved.l2, moved.hbm_reads, moved.hbm_writes, moved.updates, moved.links}) {
        row.emplace_back(bytes / mega);
      }
      table.add_row(std::move(row));
    }
  }
  return table;
}

SublayerStudy read_study_of_t3(sim::Section root, const Testbed& testbed) {
  SublayerStudy study;
  study.name = root.name("name");
  for (const int tokens : root.integers("tokens", 1, 1 << 24)) study.tokens.push_back(tokens);
  if (study.tokens.empty()) root.fault("tokens", "at least one number of tokens is needed");
  study.sublayers = read_sublayers(root);
  study.strategies = read_fused_strategies(root.section("fused"), testbed.platform());
  const models::GpuSpec& gpu = testbed.platform().gpu;
  study.splits = root.integers("cus_apart", 1, gpu.cus() - gpu.memory.xcds);
  constexpr std::array<std::string_view, 5> taken{"results", "bytes", "platform", "warnings", "notes"};
  study.summaries = read_summaries(root, table_of(std::vector<SublayerRuns>(), shown_of(study)).columns(), taken);
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

}  // namespace

PaperStudy read_sublayer_study(sim::Section root, const Testbed& testbed) {
  const SublayerStudy study = read_study_of_t3(root, testbed);
  const auto run = [study](Testbed& asked, bool, const Progress& progress, int jobs) -> Results {
    std::vector<SublayerRuns> results(study.sublayers.size() * study.tokens.size());
    const auto run_one = [&](std::size_t index) {
      const Sublayer& sublayer = study.sublayers[index % study.sublayers.size()];
      results[index] = run_sublayer(asked.platform(), study, sublayer, study.tokens[index / study.sublayers.size()]);
    };
    for_each_index(results.size(), run_one, progress, jobs);
    const ResultTable table = table_of(results, shown_of(study));
    Results answer{.platform = asked.platform().name, .tables = {{"results", "", table}}, .title = study.name};
    std::ranges::move(summarized(study.summaries, table), std::back_inserter(answer.tables));
    answer.tables.push_back({"bytes", "Bytes that one GPU moves, by level", table_of_bytes(study, results), false});
    return answer;
  };
  return {
      fmt::format("{}: {} sub-layers by {} schedules", study.name, study.sublayers.size(), study.strategies.size() + 1),
      run};
}

}  // namespace c3sim::study
