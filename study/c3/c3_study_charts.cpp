#include "study/c3/c3_study_charts.h"

#include <fmt/format.h>

#include <algorithm>

namespace c3sim::study {

namespace {

bool belongs_to(PaperFigure figure, Strategy strategy) {
  if (strategy == Strategy::c3_base) return true;
  if (strategy == Strategy::serial || strategy == Strategy::heuristic) return false;
  const bool on_engines = strategy == Strategy::conccl || strategy == Strategy::conccl_rp;
  return on_engines == (figure == PaperFigure::copy_engines);
}

// Over the classes where none is named.
std::optional<Published> published_speedup(const PublishedCollective& published,
                                           std::optional<LengthClass> length_class, double ideal) {
  if (!length_class) {
    if (!published.speedup) return {};
    return Published{*published.speedup, *published.speedup};
  }
  if (!published.lowest_fraction || !published.highest_fraction) return {};
  return Published{1.0 + *published.lowest_fraction * (ideal - 1.0), 1.0 + *published.highest_fraction * (ideal - 1.0)};
}

// The ideal comes last; no value where the selection has no scenario.
Bar speedup_bar(const C3Study& study, std::span<const StudyResult> results, std::span<const Strategy> strategies,
                models::CollectiveKind kind, std::optional<LengthClass> length_class) {
  Bar bar;
  bar.label = fmt::format("{} {}", models::to_string(kind), length_class ? to_string(*length_class) : "mean");
  std::optional<double> ideal;
  for (const Strategy strategy : strategies) {
    const Average mean = average(results, {strategy, kind, length_class});
    if (mean.scenarios == 0) {
      bar.values.emplace_back();
      bar.published.emplace_back();
      continue;
    }
    ideal = mean.ideal_speedup;
    bar.values.emplace_back(mean.speedup);
    bar.published.push_back(
        published_speedup(published_of(published_of(study, strategy), kind), length_class, mean.ideal_speedup));
  }
  bar.values.push_back(ideal);
  bar.published.emplace_back();
  return bar;
}

}  // namespace

BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  BarChart chart{.id = "fraction_of_ideal",
                 .title = fmt::format("Fraction of the ideal speedup by strategy: {} on {}", study.name, platform),
                 .value_axis = "fraction of ideal speedup [%]",
                 .series = {"predicted"}};
  for (const Strategy strategy : strategies_that_vary(study.strategies)) {
    Bar& bar = chart.bars.emplace_back();
    bar.label = to_string(strategy);
    bar.values = {100.0 * average(results, {strategy, {}, {}}).fraction_of_ideal};
    bar.published.emplace_back();
    const std::optional<double> published = published_of(study, strategy).fraction;
    if (published) bar.published.back() = Published{100.0 * *published, 100.0 * *published};
  }
  return chart;
}

BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure) {
  const bool kernels = figure == PaperFigure::kernels;
  BarChart chart{
      .id = kernels ? "speedup_by_kernels" : "speedup_by_copy_engines",
      .title = fmt::format("Speedup with collectives on {}: {}", kernels ? "kernels" : "copy engines", study.name),
      .value_axis = "mean speedup over serial execution",
      .decimals = 2,
      .levels = {{"serial", 1.0}},
      .caption = ""};
  std::vector<Strategy> strategies;
  for (const Strategy strategy : study.strategies) {
    if (!belongs_to(figure, strategy)) continue;
    strategies.push_back(strategy);
    chart.series.emplace_back(to_string(strategy));
  }
  chart.series.emplace_back("ideal");
  const auto add = [&](models::CollectiveKind kind, std::optional<LengthClass> length_class) {
    Bar bar = speedup_bar(study, results, strategies, kind, length_class);
    if (bar.values.back()) chart.bars.push_back(std::move(bar));
  };
  for (const models::CollectiveKind kind : study.collectives) {
    const std::size_t before = chart.bars.size();
    for (const LengthClass length_class : all_length_classes()) add(kind, length_class);
    if (chart.bars.size() > before + 1) add(kind, {});
  }
  const bool any_published = std::any_of(chart.bars.begin(), chart.bars.end(), [](const Bar& bar) {
    return std::any_of(bar.published.begin(), bar.published.end(), [](const auto& range) { return range.has_value(); });
  });
  if (any_published) {
    chart.caption =
        "Published for the classes: the lowest and the highest fraction of ideal over all three, at the predicted "
        "ideal "
        "of each; for their mean: the speedup.";
  }
  return chart;
}

}  // namespace c3sim::study
