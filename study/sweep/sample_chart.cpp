#include "study/sweep/sample_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "study/sweep/sweep_charts.h"
#include "study/uncertainty/interval.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_marks = 24;  // of a series; of more different x, neighbours share one
constexpr std::size_t fewest_together = fewest_draws;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

ScatterPoint mark_of(const std::vector<double>& xs, const std::vector<double>& ys) {
  ScatterPoint mark{median(xs), median(ys), fmt::format("{} point{}", ys.size(), ys.size() == 1 ? "" : "s")};
  const auto [least, greatest] = std::ranges::minmax(ys);
  const Interval interval = interval_of(ys).value_or(Interval{least, greatest});
  if (ys.size() > 1) {
    mark.y_low = interval.low;
    mark.y_high = interval.high;
  }
  return mark;
}

}  // namespace

SampleChart::SampleChart(const SweepStudy& study, const ChartAxes& axes) : study_(study), axes_(axes) {
  const std::vector<Column> columns = study.columns();
  x_ = place_of(columns, axes.x);
  y_ = place_of(columns, axes.y);
  for (const std::size_t place : study.cases) {
    const SweepAxis& axis = study.points.axes()[place];
    const std::string key = axis.column().key;
    if (!axis.varies() || key == axes.x || axes.only.contains(key)) continue;
    CaseAxis one{&axis, place_of(columns, axis.column().key), {}};
    for (const AxisValue& value : axis.values) one.cells.push_back(axis.cell(value));
    cases_.push_back(std::move(one));
  }
}

void SampleChart::add(const PointAnswer& point) {
  const std::optional<double> x = number_of(point.cells[x_]);
  const std::optional<double> y = number_of(point.cells[y_]);
  if (!x || !y || !study_.is_in(axes_, point.index)) return;
  SweepStudy::Case which;
  for (const CaseAxis& one : cases_) {
    which.push_back(
        static_cast<std::size_t>(std::ranges::find(one.cells, point.cells[one.column]) - one.cells.begin()));
  }
  places_[which].push_back({*x, *y});
}

std::string SampleChart::name_of(const SweepStudy::Case& which) const {
  std::string name;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    name += (i == 0 ? "" : ", ") + cases_[i].axis->values.at(which[i]).label;
  }
  return name;
}

std::vector<ScatterPoint> SampleChart::marks_of(std::vector<Place> places) {
  std::ranges::stable_sort(places, {}, &Place::x);
  std::size_t different = places.empty() ? 0 : 1;
  for (std::size_t i = 1; i < places.size(); ++i) different += places[i].x != places[i - 1].x ? 1 : 0;
  const std::size_t together =
      different <= most_marks ? 1 : std::max(fewest_together, (places.size() - 1) / most_marks + 1);
  std::vector<ScatterPoint> marks;
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t i = 0; i < places.size(); ++i) {
    xs.push_back(places[i].x);
    ys.push_back(places[i].y);
    const bool is_last = i + 1 == places.size();
    // Points of the same x are never parted.
    if (!is_last && (xs.size() < together || places[i + 1].x == places[i].x)) continue;
    marks.push_back(mark_of(xs, ys));
    xs.clear();
    ys.clear();
  }
  return marks;
}

ScatterChart SampleChart::chart() const {
  ScatterChart chart = empty_chart(study_, axes_);
  chart.joined = true;
  chart.caption =
      "A mark is the median of the points at or near its x, and its bar holds nine in ten of them: they differ in what "
      "the chart does not show.";
  if (places_.size() > most_curves) {
    std::vector<Place> all;
    for (const auto& [which, places] : places_) all.insert(all.end(), places.begin(), places.end());
    chart.series.push_back({study_.name, marks_of(std::move(all))});
    return chart;
  }
  for (const auto& [which, places] : places_) {
    chart.series.push_back({cases_.empty() ? chart.y.label : name_of(which), marks_of(places)});
  }
  return chart;
}

std::string sentence_of_medians(const SweepStudy& study, const ChartAxes& axes, const ScatterChart& chart) {
  std::optional<double> least, greatest;
  const bool descends = is_descending(study, axes.x);
  for (const ScatterSeries& series : chart.series) {
    if (series.points.size() < 2 || series.points.front().y == 0.0 || series.points.back().y == 0.0) continue;
    const double up = series.points.back().y / series.points.front().y;
    const double ratio = descends ? 1.0 / up : up;
    least = std::min(least.value_or(ratio), ratio);
    greatest = std::max(greatest.value_or(ratio), ratio);
  }
  if (!least) return {};
  const std::string by_case =
      chart.series.size() > 1 ? fmt::format("{:.2f} to {:.2f}", *least, *greatest) : fmt::format("{:.2f}", *least);
  return fmt::format("Over the whole range of {}, the median {} becomes {} times what it was at first{}.",
                     chart.x.label, chart.y.label, by_case, chart.series.size() > 1 ? ", by case" : "");
}

}  // namespace c3sim::study
