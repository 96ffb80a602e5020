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

// The result of any strategy: isolated times do not depend on it.
const C3Result* find_result(std::span<const StudyResult> results, const StudyPair& pair, models::CollectiveKind kind) {
  for (const StudyResult& result : results) {
    if (result.c3.scenario.name == pair.name && result.c3.scenario.collective == kind) return &result.c3;
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
  return {platform,
          {{"results", "", c3_table(all), false},
           {"by_strategy", averages, strategy_table(study, results)},
           {"by_class", "Of ideal by collective and class", class_table(study, results)},
           {"pairs", "Isolated times and the class that follows from them", pair_table(study, results)}},
          {},
          std::move(runs)};
}

BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  BarChart chart{.title = fmt::format("{} on {}", study.name, platform),
                 .value_axis = "fraction of ideal speedup [%]",
                 .series = {"predicted", "published"},
                 .bars = {}};
  for (const Strategy strategy : study.strategies) {
    const std::optional<double> published = published_of(study, strategy).fraction;
    chart.bars.push_back({text(to_string(strategy)),
                          {average(results, {strategy, {}, {}}).fraction_of_ideal * 100.0,
                           published ? std::optional(*published * 100.0) : std::nullopt}});
  }
  return chart;
}

}  // namespace study
