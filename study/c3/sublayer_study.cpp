#include "study/c3/sublayer_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "models/kernels/gemm_plan.h"
#include "study/work/choices.h"
#include "study/work/operation.h"

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

// Pieces are a power of two, which divides most numbers of tokens.
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

// One sub-layer on machines of its own.
class SublayerRun {
 public:
  SublayerRun(const models::PlatformSpec& platform, const SublayerStudy& study, const Sublayer& sublayer,
              std::int64_t tokens)
      : study_(study), today_(node_of(platform, sublayer.gpus)), shape_(sublayer.shape(tokens)) {
    result_.sublayer = sublayer;
    result_.tokens = tokens;
    collective_ = models::collective_of({.gemm = shape_}, sublayer.gpus);
  }

  SublayerResult run() && {
    result_.gemm = today_.alone(shape_);
    result_.reduce_scatter = today_.alone(of(CollectiveKind::reduce_scatter));
    result_.all_gather = today_.alone(of(CollectiveKind::all_gather));
    result_.all_reduce = today_.alone(of(CollectiveKind::all_reduce));
    const Timeline& sequential =
        today_.run(one_after_another({shape_, of(CollectiveKind::reduce_scatter), of(CollectiveKind::all_gather)}));
    result_.sequential = sequential.makespan();
    result_.moved = sequential.moved.value();
    for (const FusedStrategy& strategy : study_.strategies) fuse(strategy);
    for (const int cus : study_.splits) split(cus);
    return std::move(result_);
  }

 private:
  models::CollectiveSpec of(CollectiveKind kind) const {
    models::CollectiveSpec spec = collective_;
    spec.kind = kind;
    return spec;
  }
  void fuse(const FusedStrategy& strategy) {
    Testbed machine(machine_for(today_.platform(), strategy));
    const models::FusedSpec fused = fused_by(strategy, shape_, machine.platform());
    const Timeline& timeline = machine.run(one_after_another({fused, of(CollectiveKind::all_gather)}));
    result_.fused.push_back({timeline.makespan(), timeline.moved.value()});
    if (result_.fused.size() > 1) return;
    // All tiles of no product are stored at once.
    models::PlatformSpec platform = machine.platform();
    platform.gpu.memory.tracker.entries = shape_.m * shape_.n;
    models::FusedSpec no_product = fused;
    no_product.gemm.k = 1;
    result_.near_memory_reduce_scatter = Testbed(platform).alone(no_product);
  }
  void split(int cus) {
    const models::GpuSpec& gpu = today_.platform().gpu;
    models::CollectiveSpec all_reduce = of(CollectiveKind::all_reduce);
    all_reduce.cus = all_reduce.channels = cus;
    const models::CuMask others{cus / gpu.memory.xcds, gpu.cus_per_xcd};
    result_.splits.push_back({today_.alone(shape_, others), today_.alone(all_reduce)});
  }

  const SublayerStudy& study_;
  Testbed today_;
  models::GemmShape shape_;
  models::CollectiveSpec collective_;
  SublayerResult result_;
};

// Of at least one ratio.
struct RatioMeans {
  double logs = 0.0;
  double most = 0.0;
  double count = 0.0;
  void add(double value) {
    logs += std::log(value);
    most = std::max(most, value);
    ++count;
  }
  double geomean() const { return std::exp(logs / count); }
};

double bytes_at_hbm(const models::MovedBytes& moved) { return moved.hbm_reads + moved.hbm_writes; }

// The value of a metric for a number of tokens: over the sub-layers that count.
using RatioOf = std::function<double(const SublayerResult& result)>;
using IsCounted = std::function<bool(const Sublayer& sublayer)>;

class SublayerMetrics {
 public:
  SublayerMetrics(const SublayerStudy& study, const std::vector<SublayerResult>& results)
      : study_(study), results_(results) {}

  void add(const std::string& name, const IsCounted& counts, const RatioOf& of_one,
           const std::function<double(const RatioMeans&)>& value) {
    std::vector<double>& range = values_[name];
    for (const std::int64_t tokens : study_.tokens) {
      RatioMeans means;
      for (const SublayerResult& result : results_) {
        if (result.tokens == tokens && counts(result.sublayer)) means.add(of_one(result));
      }
      if (means.count > 0.0) range.push_back(value(means));
    }
    if (range.empty())
      values_.erase(name);
    else
      range = {std::ranges::min(range), std::ranges::max(range)};
  }
  void add_speedups(const std::string& name, const IsCounted& counts, const RatioOf& of_one) {
    add(name + "geomean", counts, of_one, [](const RatioMeans& means) { return means.geomean(); });
    add(name + "max", counts, of_one, [](const RatioMeans& means) { return means.most; });
  }
  std::map<std::string, std::vector<double>> take() && { return std::move(values_); }

 private:
  const SublayerStudy& study_;
  const std::vector<SublayerResult>& results_;
  std::map<std::string, std::vector<double>> values_;
};

std::vector<FusedStrategy> read_fused_strategies(sim::Section section) {
  std::vector<FusedStrategy> strategies;
  for (const std::string& name : section.keys()) {
    sim::Section one = section.section(name);
    FusedStrategy& strategy = strategies.emplace_back();
    strategy.name = name;
    strategy.fused.trigger = one.choice<models::TriggerChoice>("trigger", trigger_choices());
    strategy.fused.path = one.choice<models::FusedPath>("path", fused_path_choices(), models::FusedPath::direct);
    strategy.fused.stores = one.flag("stores", false);
    strategy.tiles = one.integer("tiles", 1, 1 << 20);
    strategy.near_memory =
        one.choice<models::NearMemory>("near_memory", models::near_memory_names, models::NearMemory::none);
    strategy.arbitration =
        one.choice<models::Arbitration>("arbitration", models::arbitration_names, models::Arbitration::off);
  }
  return strategies;
}

std::vector<Sublayer> read_sublayers(sim::Section& root) {
  std::vector<Sublayer> sublayers;
  sim::Section models = root.section("models");
  sim::Section products = root.section("sublayers");
  std::vector<std::pair<std::string, std::int64_t>> contractions;
  for (const std::string& name : products.keys()) contractions.emplace_back(name, products.integer(name, 1, 64));
  for (const std::string& name : models.keys()) {
    sim::Section model = models.section(name);
    const std::int64_t hidden = model.integer("hidden", 1, models::GemmShape::largest_extent / 64);
    const bool large = model.flag("large", false);
    for (const int gpus : model.integers("gpus", 2, 64)) {
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

}  // namespace

bool holds_sublayer_study(sim::Section root) { return root.has("sublayers"); }

SublayerStudy read_sublayer_study(sim::Section root, const Testbed& testbed) {
  SublayerStudy study;
  study.name = root.name("name");
  for (const int tokens : root.integers("tokens", 1, 1 << 24)) study.tokens.push_back(tokens);
  if (study.tokens.empty()) root.fault("tokens", "at least one number of tokens is needed");
  study.sublayers = read_sublayers(root);
  study.strategies = read_fused_strategies(root.section("fused"));
  const models::GpuSpec& gpu = testbed.platform().gpu;
  study.splits = root.integers("cus_apart", 1, gpu.cus() - gpu.memory.xcds);
  sim::Section published = root.section("published");
  published.text("source");  // for readers of the file
  sim::Section metrics = published.section("metrics");
  for (const std::string& name : metrics.keys()) {
    study.published.push_back({name, metrics.number(name, -1e3, 1e3)});
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
        results[index] = SublayerRun(platform, study, sublayer, tokens).run();
      },
      progress, jobs);
  return results;
}

std::map<std::string, std::vector<double>> sublayer_metrics(const SublayerStudy& study,
                                                            const std::vector<SublayerResult>& results) {
  const IsCounted small = [](const Sublayer& sublayer) { return !sublayer.large; };
  const IsCounted large = [](const Sublayer& sublayer) { return sublayer.large; };
  const auto geomean = [](const RatioMeans& means) { return means.geomean(); };
  const auto saved = [](const RatioMeans& means) { return 1.0 - means.geomean(); };
  SublayerMetrics metrics(study, results);
  metrics.add_speedups("ideal_", small, [](const SublayerResult& one) { return one.ideal_speedup(); });
  for (std::size_t place = 0; place < study.strategies.size(); ++place) {
    const auto speedup = [place](const SublayerResult& one) { return one.speedup(one.fused[place].time); };
    metrics.add_speedups(study.strategies[place].name + "_", small, speedup);
    if (place + 1 < study.strategies.size()) continue;
    metrics.add_speedups("large_", large, speedup);
    metrics.add_speedups(fmt::format("{}_over_{}_", study.strategies[place].name, study.strategies[0].name), small,
                         [place](const SublayerResult& one) {
                           return sim::to_seconds(one.fused[0].time) / sim::to_seconds(one.fused[place].time);
                         });
    const auto moved = [place](const SublayerResult& one) {
      return bytes_at_hbm(one.fused[place].moved) / bytes_at_hbm(one.moved);
    };
    metrics.add("data_movement_geomean", small, moved, saved);
    metrics.add(
        "data_movement_max", small, [&](const SublayerResult& one) { return 1.0 / moved(one); },
        [](const RatioMeans& means) { return 1.0 - 1.0 / means.most; });
    metrics.add(
        "reads_over", small,
        [place](const SublayerResult& one) { return one.moved.hbm_reads / one.fused[place].moved.hbm_reads; }, geomean);
    metrics.add(
        "writes_saved", small,
        [place](const SublayerResult& one) { return one.fused[place].moved.hbm_writes / one.moved.hbm_writes; }, saved);
  }
  for (const int gpus : {8, 16}) {
    metrics.add(
        fmt::format("near_memory_rs_tp{}", gpus),
        [gpus](const Sublayer& sublayer) { return !sublayer.large && sublayer.gpus == gpus; },
        [](const SublayerResult& one) {
          return sim::to_seconds(one.reduce_scatter) / sim::to_seconds(one.near_memory_reduce_scatter);
        },
        [](const RatioMeans& means) { return means.geomean() - 1.0; });
  }
  metrics.add(
      "split_ideal", small,
      [](const SublayerResult& one) {
        return sim::to_seconds(one.gemm + one.all_reduce) / sim::to_seconds(std::max(one.gemm, one.all_reduce));
      },
      geomean);
  for (std::size_t place = 0; place < study.splits.size(); ++place) {
    const int cus = study.splits[place];
    metrics.add(
        fmt::format("split_{}", cus), small,
        [place](const SublayerResult& one) {
          const auto& split = one.splits[place];
          return sim::to_seconds(one.gemm + one.all_reduce) / sim::to_seconds(std::max(split.gemm, split.all_reduce));
        },
        geomean);
    metrics.add(
        fmt::format("all_reduce_slower_{}", cus), small,
        [place](const SublayerResult& one) {
          return sim::to_seconds(one.splits[place].all_reduce) / sim::to_seconds(one.all_reduce);
        },
        [](const RatioMeans& means) { return means.geomean() - 1.0; });
    metrics.add(
        fmt::format("gemm_slower_{}", cus), small,
        [place](const SublayerResult& one) {
          return sim::to_seconds(one.splits[place].gemm) / sim::to_seconds(one.gemm);
        },
        [](const RatioMeans& means) { return means.geomean() - 1.0; });
  }
  return std::move(metrics).take();
}

namespace {

ResultTable table_of_sublayers(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  std::vector<Column> columns{{"model", "model", ""},
                              {"gpus", "GPUs", ""},
                              {"sublayer", "sub-layer", ""},
                              {"tokens", "tokens", ""},
                              {"gemm_us", "GEMM", "us"},
                              {"reduce_scatter_us", "reduce-scatter", "us"},
                              {"all_gather_us", "all-gather", "us"},
                              {"sequential_us", "one after the other", "us"},
                              {"ideal_speedup", "ideal", "", 3}};
  for (const FusedStrategy& strategy : study.strategies) {
    columns.push_back({strategy.name + "_speedup", strategy.name, "", 3});
  }
  ResultTable table(std::move(columns));
  for (const SublayerResult& one : results) {
    std::vector<Cell> row{one.sublayer.model,
                          std::int64_t{one.sublayer.gpus},
                          one.sublayer.name,
                          one.tokens,
                          sim::to_microseconds(one.gemm),
                          sim::to_microseconds(one.reduce_scatter),
                          sim::to_microseconds(one.all_gather),
                          sim::to_microseconds(one.sequential),
                          one.ideal_speedup()};
    for (const SublayerResult::Fused& fused : one.fused) row.emplace_back(one.speedup(fused.time));
    table.add_row(std::move(row));
  }
  return table;
}

ResultTable table_of_published(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  ResultTable table({{"metric", "metric", ""},
                     {"published", "published", "", 3},
                     {"low", "c3sim, lowest", "", 3},
                     {"high", "highest, by tokens", "", 3}});
  const auto metrics = sublayer_metrics(study, results);
  for (const SublayerStudy::Published& published : study.published) {
    const auto found = metrics.find(published.metric);
    const bool known = found != metrics.end();
    table.add_row({published.metric, published.value, known ? Cell(found->second.front()) : Cell(),
                   known ? Cell(found->second.back()) : Cell()});
  }
  return table;
}

ResultTable table_of_bytes(const SublayerStudy& study, const std::vector<SublayerResult>& results) {
  ResultTable table({{"model", "model", ""},
                     {"gpus", "GPUs", ""},
                     {"sublayer", "sub-layer", ""},
                     {"tokens", "tokens", ""},
                     {"schedule", "schedule", ""},
                     {"l2_MB", "L2", "MB"},
                     {"hbm_read_MB", "HBM, read", "MB"},
                     {"hbm_written_MB", "HBM, written", "MB"},
                     {"updated_MB", "added near memory", "MB"},
                     {"links_MB", "links", "MB"}});
  const auto add = [&](const SublayerResult& one, const std::string& schedule, const models::MovedBytes& moved) {
    constexpr double mega = 1e6;
    table.add_row({one.sublayer.model, std::int64_t{one.sublayer.gpus}, one.sublayer.name, one.tokens, schedule,
                   moved.l2 / mega, moved.hbm_reads / mega, moved.hbm_writes / mega, moved.updates / mega,
                   moved.links / mega});
  };
  for (const SublayerResult& one : results) {
    add(one, "sequential", one.moved);
    for (std::size_t place = 0; place < study.strategies.size(); ++place) {
      add(one, study.strategies[place].name, one.fused[place].moved);
    }
  }
  return table;
}

}  // namespace

Results sublayer_results(const SublayerStudy& study, const std::vector<SublayerResult>& results, std::string platform) {
  Results answer{std::move(platform), {}, {}, {}};
  NamedTable all{"results", "", table_of_sublayers(study, results)};
  answer.tables.push_back(std::move(all));
  answer.tables.push_back({"published", "Beside what the paper says", table_of_published(study, results)});
  NamedTable bytes{"bytes", "Bytes that one GPU moves, by level", table_of_bytes(study, results)};
  bytes.in_text = false;
  answer.tables.push_back(std::move(bytes));
  answer.title = study.name;
  return answer;
}

}  // namespace c3sim::study
