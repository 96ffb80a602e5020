#include "study/c3/c3_study_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/c3/c3_study_charts.h"
#include "study/c3/c3_table.h"

namespace c3sim::study {

namespace {

Cell optional_cell(std::optional<double> value, double scale = 1.0) {
  if (!value) return {};
  return *value * scale;
}

std::vector<Chart> speedup_charts(const C3Study& study, std::span<const StudyResult> results) {
  std::vector<Chart> charts;
  for (const PaperFigure figure : {PaperFigure::kernels, PaperFigure::copy_engines}) {
    BarChart chart = speedup_chart(study, results, figure);
    if (!chart.bars.empty()) charts.emplace_back(std::move(chart));
  }
  return charts;
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
    table.add_row({std::string(to_string(strategy)), mean.fraction_of_ideal * 100.0,
                   optional_cell(published.fraction, 100.0), mean.mean_fraction * 100.0, mean.speedup,
                   optional_cell(published.speedup), mean.highest_speedup, optional_cell(published.highest_speedup),
                   mean.ideal_speedup});
  }
  return table;
}

ResultTable class_table(const C3Study& study, std::span<const StudyResult> results) {
  std::vector<Column> columns{{"collective", "collective", ""}, {"strategy", "strategy", ""}};
  for (const LengthClass length_class : all_length_classes()) {
    const std::string name = std::string(to_string(length_class));
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
      row.emplace_back(std::string(models::to_string(kind)));
      row.emplace_back(std::string(to_string(strategy)));
      for (const LengthClass length_class : all_length_classes()) {
        const Average mean = average(results, {strategy, kind, length_class});
        row.emplace_back();
        if (mean.scenarios > 0) row.back() = mean.fraction_of_ideal * 100.0;
      }
      const PublishedCollective published = published_of(published_of(study, strategy), kind);
      row.push_back(optional_cell(published.lowest_fraction, 100.0));
      row.push_back(optional_cell(published.highest_fraction, 100.0));
      const Average mean = average(results, {strategy, kind, {}});
      row.push_back(mean.scenarios > 0 ? Cell(mean.speedup) : Cell());
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
    const std::string name = std::string(models::to_string(kind));
    columns.push_back({fmt::format("isolated_{}_us", name), name + " alone", "us", 1});
    columns.push_back({name + "_class", "class", ""});
  }
  ResultTable table(std::move(columns));
  for (const StudyPair& pair : study.pairs) {
    std::vector<Cell> row(3);
    row[0] = pair.name;
    if (pair.length_class) row[1] = std::string(to_string(*pair.length_class));
    for (const models::CollectiveKind kind : study.collectives) {
      const C3Result* result = find_result(results, pair, kind);
      if (result == nullptr) {
        row.resize(row.size() + 2);
        continue;
      }
      row[2] = sim::to_microseconds(result->isolated_gemm);
      row.emplace_back(sim::to_microseconds(result->isolated_collective));
      row.emplace_back(
          std::string(to_string(classify(result->isolated_gemm, result->isolated_collective, study.longer_by))));
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
    if (scenarios > 0) table.add_row({std::string(models::to_string(kind)), scenarios, right, 100.0 * loss});
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
      {"results", "Every scenario under every strategy", c3_table(all), false},
      {"by_strategy", averages, strategy_table(study, results), true, {fraction_chart(study, results, platform)}, true},
      {"by_class", "Of ideal by collective and class", class_table(study, results), true,
       speedup_charts(study, results), true},
      {"pairs", "Isolated times and the class that follows from them", pair_table(study, results), true, {}, true}};
  ResultTable heuristic = heuristic_table(study, results);
  if (!heuristic.rows().empty()) {
    tables.push_back({"heuristic",
                      "CUs reserved by heuristic, against the sweep of c3_sp_rp",
                      std::move(heuristic),
                      true,
                      {},
                      true});
  }
  return {platform, std::move(tables), study.warnings, std::move(runs), fmt::format("{} on {}", study.name, platform)};
}

}  // namespace c3sim::study
