#include "study/c3_study_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/answers.h"

namespace study {

namespace {

std::string text(std::string_view view) { return std::string(view); }

Cell optional_cell(std::optional<double> value, double scale = 1.0) {
  if (!value) return {};
  return *value * scale;
}

PublishedStrategy published_of(const C3Study& study, Strategy strategy) {
  const auto found = std::find_if(study.published.begin(), study.published.end(),
                                  [&](const PublishedStrategy& published) { return published.strategy == strategy; });
  return found == study.published.end() ? PublishedStrategy{} : *found;
}

PublishedCollective published_of(const PublishedStrategy& published, models::CollectiveKind kind) {
  const auto found = std::find_if(published.collectives.begin(), published.collectives.end(),
                                  [&](const PublishedCollective& collective) { return collective.kind == kind; });
  return found == published.collectives.end() ? PublishedCollective{} : *found;
}

// Of any strategy where none is named: isolated times do not depend on it.
const C3Result* find_result(std::span<const StudyResult> results, const StudyPair& pair, models::CollectiveKind kind,
                            std::optional<Strategy> strategy = {}) {
  for (const StudyResult& result : results) {
    const bool meant = !strategy || *strategy == result.c3.strategy;
    if (meant && result.c3.scenario.name == pair.name && result.c3.scenario.collective == kind) return &result.c3;
  }
  return nullptr;
}

bool belongs_to(PaperFigure figure, Strategy strategy) {
  if (strategy == Strategy::c3_base) return true;
  if (strategy == Strategy::serial || strategy == Strategy::heuristic) return false;
  const bool on_engines = strategy == Strategy::conccl || strategy == Strategy::conccl_rp;
  return on_engines == (figure == PaperFigure::copy_engines);
}

}  // namespace

ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results) {
  ResultTable table({{"strategy", "strategy", ""},
                     {"fraction_of_ideal_percent", "of ideal", "%", 0},
                     {"published_fraction_of_ideal_percent", "published", "%", 0},
                     {"mean_fraction_of_ideal_percent", "mean of scenarios", "%", 0},
                     {"speedup", "speedup", ""},
                     {"published_speedup", "published", ""},
                     {"highest_speedup", "highest", ""},
                     {"published_highest_speedup", "published", ""},
                     {"ideal_speedup", "ideal", ""}});
  for (const Strategy strategy : study.strategies) {
    const Average mean = average(results, {strategy, {}, {}});
    const PublishedStrategy published = published_of(study, strategy);
    table.add_row({text(to_string(strategy)), mean.fraction_of_ideal * 100.0, optional_cell(published.fraction, 100.0),
                   mean.mean_fraction * 100.0, mean.speedup, optional_cell(published.speedup), mean.highest_speedup,
                   optional_cell(published.highest_speedup), mean.ideal_speedup});
  }
  return table;
}

ResultTable class_table(const C3Study& study, std::span<const StudyResult> results) {
  std::vector<Column> columns{{"collective", "collective", ""}, {"strategy", "strategy", ""}};
  for (const LengthClass length_class : all_length_classes()) {
    const std::string name = text(to_string(length_class));
    columns.push_back({name + "_percent", name, "%", 0});
  }
  columns.push_back({"published_lowest_percent", "published lowest", "%", 0});
  columns.push_back({"published_highest_percent", "highest", "%", 0});
  columns.push_back({"speedup", "speedup", ""});
  columns.push_back({"published_speedup", "published", ""});
  ResultTable table(std::move(columns));
  for (const models::CollectiveKind kind : study.collectives) {
    for (const Strategy strategy : study.strategies) {
      std::vector<Cell> row;
      row.emplace_back(text(models::to_string(kind)));
      row.emplace_back(text(to_string(strategy)));
      for (const LengthClass length_class : all_length_classes()) {
        const Average mean = average(results, {strategy, kind, length_class});
        row.emplace_back();
        if (mean.scenarios > 0) row.back() = mean.fraction_of_ideal * 100.0;
      }
      const PublishedCollective published = published_of(published_of(study, strategy), kind);
      row.push_back(optional_cell(published.lowest_fraction, 100.0));
      row.push_back(optional_cell(published.highest_fraction, 100.0));
      row.emplace_back(average(results, {strategy, kind, {}}).speedup);
      row.push_back(optional_cell(published.speedup));
      table.add_row(std::move(row));
    }
  }
  return table;
}

ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results) {
  std::vector<Column> columns{{"pair", "pair", ""}, {"published_class", "published class", ""}};
  columns.push_back({"isolated_gemm_us", "GEMM alone", "us", 1});
  for (const models::CollectiveKind kind : study.collectives) {
    const std::string name = text(models::to_string(kind));
    columns.push_back({fmt::format("isolated_{}_us", name), name + " alone", "us", 1});
    columns.push_back({name + "_class", "class", ""});
  }
  ResultTable table(std::move(columns));
  for (const StudyPair& pair : study.pairs) {
    std::vector<Cell> row(3);
    row[0] = pair.name;
    row[1] = text(to_string(pair.length_class));
    for (const models::CollectiveKind kind : study.collectives) {
      const C3Result* result = find_result(results, pair, kind);
      if (result == nullptr) {
        row.resize(row.size() + 2);
        continue;
      }
      row[2] = sim::to_microseconds(result->isolated_gemm);
      row.emplace_back(sim::to_microseconds(result->isolated_collective));
      row.emplace_back(text(to_string(classify(result->isolated_gemm, result->isolated_collective, study.longer_by))));
    }
    table.add_row(std::move(row));
  }
  return table;
}

ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results) {
  ResultTable table({{"collective", "collective", ""},
                     {"scenarios", "scenarios", ""},
                     {"right", "right", ""},
                     {"largest_loss_percent", "largest loss", "%", 1}});
  for (const models::CollectiveKind kind : study.collectives) {
    std::int64_t scenarios = 0;
    std::int64_t right = 0;
    double loss = 0.0;
    for (const StudyPair& pair : study.pairs) {
      const C3Result* const heuristic = find_result(results, pair, kind, Strategy::heuristic);
      const C3Result* const sweep = find_result(results, pair, kind, Strategy::c3_sp_rp);
      if (heuristic == nullptr || sweep == nullptr) continue;
      ++scenarios;
      right += heuristic->reserved_cus == sweep->reserved_cus ? 1 : 0;
      loss = std::max(loss, sim::to_seconds(heuristic->makespan) / sim::to_seconds(sweep->makespan) - 1.0);
    }
    if (scenarios > 0) table.add_row({text(models::to_string(kind)), scenarios, right, 100.0 * loss});
  }
  return table;
}

Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  std::vector<C3Result> all;
  std::vector<NamedRun> runs;
  for (const StudyResult& result : results) {
    all.push_back(result.c3);
    runs.push_back({fmt::format("{} {} {}", result.c3.scenario.name, models::to_string(result.c3.scenario.collective),
                                to_string(result.c3.strategy)),
                    result.c3.schedule});
  }
  const std::size_t scenarios = study.pairs.size() * study.collectives.size();
  const std::string averages =
      fmt::format("{} on {}: {} scenarios; mean over collectives and classes, beside the published figure", study.name,
                  platform, scenarios);
  std::vector<NamedTable> tables{
      {"results", "", c3_table(all), false},
      {"by_strategy", averages, strategy_table(study, results)},
      {"by_class", "Of ideal by collective and class", class_table(study, results)},
      {"pairs", "Isolated times and the class that follows from them", pair_table(study, results)}};
  ResultTable heuristic = heuristic_table(study, results);
  if (!heuristic.rows().empty()) {
    tables.push_back({"heuristic", "CUs reserved by heuristic, against the sweep of c3_sp_rp", std::move(heuristic)});
  }
  return {platform, std::move(tables), {}, std::move(runs)};
}

BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure) {
  BarChart chart{.title = study.name + (figure == PaperFigure::kernels ? ": by kernels" : ": by copy engines"),
                 .value_axis = "mean speedup",
                 .series = {},
                 .bars = {}};
  std::vector<Strategy> strategies;
  for (const Strategy strategy : study.strategies) {
    if (!belongs_to(figure, strategy)) continue;
    strategies.push_back(strategy);
    chart.series.emplace_back(to_string(strategy));
  }
  chart.series.emplace_back("ideal");
  for (const models::CollectiveKind kind : study.collectives) {
    for (const LengthClass length_class : all_length_classes()) {
      Bar bar{fmt::format("{} {}", models::to_string(kind), to_string(length_class)), {}};
      double ideal = 0.0;
      for (const Strategy strategy : strategies) {
        const Average mean = average(results, {strategy, kind, length_class});
        bar.values.emplace_back(mean.speedup);
        ideal = mean.ideal_speedup;
      }
      bar.values.emplace_back(ideal);
      if (ideal > 0.0) chart.bars.push_back(std::move(bar));  // a class without a scenario has none
    }
  }
  return chart;
}

BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  BarChart chart{.title = fmt::format("{} on {}", study.name, platform),
                 .value_axis = "fraction of ideal speedup [%]",
                 .series = {"predicted"},
                 .bars = {}};
  for (const Strategy strategy : study.strategies) {
    chart.bars.push_back({text(to_string(strategy)), {average(results, {strategy, {}, {}}).fraction_of_ideal * 100.0}});
  }
  if (study.published.empty()) return chart;
  chart.series.emplace_back("published");
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const std::optional<double> published = published_of(study, study.strategies[i]).fraction;
    chart.bars[i].values.push_back(published ? std::optional(*published * 100.0) : std::nullopt);
  }
  return chart;
}

}  // namespace study
