#include "study/sweep/sweep_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

namespace c3sim::study {

namespace {

constexpr double worth_having = 0.01;  // a change of less is none

// What a point has of the axes other than those that a chart shows.
std::string shared_part(const SweepStudy& study, std::uint64_t index, const ChartAxes& chart) {
  const Point point = study.points.point(index);
  std::string text;
  for (std::size_t a = 0; a < point.values.size(); ++a) {
    const SweepAxis& axis = study.points.axes()[a];
    const std::string key = axis.column().key;
    if (!axis.varies() || axis.interval || key == chart.x || key == chart.y || chart.only.contains(key)) continue;
    text += (text.empty() ? "" : ", ") + point.values[a].label;
  }
  return text;
}

// The x from which on a curve stays within 1 % of where it ends.
double settled_at(const std::vector<ScatterPoint>& curve) {
  const double end = curve.back().y;
  double settled = curve.back().x;
  for (auto point = curve.rbegin(); point != curve.rend(); ++point) {
    if (std::abs(point->y - end) > worth_having * std::abs(end)) break;
    settled = point->x;
  }
  return settled;
}

}  // namespace

std::size_t place_of(const std::vector<Column>& columns, const std::string& key) {
  return static_cast<std::size_t>(std::ranges::find(columns, key, &Column::key) - columns.begin());
}

std::optional<double> number_of(const Cell& cell) {
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  if (const auto* const value = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*value);
  return {};
}

bool is_descending(const SweepStudy& study, const std::string& x) {
  for (const SweepAxis& axis : study.points.axes()) {
    if (axis.column().key != x || axis.values.size() < 2) continue;
    const std::optional<double> first = number_of(axis.cell(axis.values.front()));
    const std::optional<double> last = number_of(axis.cell(axis.values.back()));
    return first && last && *first > *last;
  }
  return false;
}

Curves curves_of(const SweepStudy& study, const std::vector<PointAnswer>& points, const ChartAxes& axes) {
  const std::vector<Column> columns = study.columns();
  Curves curves;
  for (const PointAnswer& point : points) {
    const std::optional<double> at = number_of(point.cells[place_of(columns, axes.x)]);
    const std::optional<double> value = number_of(point.cells[place_of(columns, axes.y)]);
    if (!at || !value || !study.is_in(axes, point.index)) continue;
    curves[shared_part(study, point.index, axes)].push_back({*at, *value, fmt::format("point {}", point.index)});
  }
  for (auto& [name, curve] : curves) std::ranges::stable_sort(curve, {}, &ScatterPoint::x);
  return curves;
}

ScatterChart empty_chart(const SweepStudy& study, const ChartAxes& axes) {
  const std::vector<Column> columns = study.columns();
  const Column& x = columns[place_of(columns, axes.x)];
  const Column& y = columns[place_of(columns, axes.y)];
  ScatterChart chart{.id = axes.y + "_by_" + axes.x,
                     .title = fmt::format("{} by {}", y.heading, x.heading),
                     .x = {x.heading, x.unit, axes.logarithmic_x},
                     .y = {y.heading, y.unit, axes.logarithmic_y}};
  for (const auto& [axis, label] : axes.only) {
    chart.id += "_" + label;
    chart.title += fmt::format(", {} {}", axis, label);
  }
  std::ranges::replace_if(
      chart.id, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return chart;
}

ScatterChart sweep_chart(const SweepStudy& study, const std::vector<PointAnswer>& points, const ChartAxes& axes) {
  ScatterChart chart = empty_chart(study, axes);
  Curves curves = curves_of(study, points, axes);
  chart.joined = curves.size() <= most_curves;
  if (!chart.joined) {
    ScatterSeries all{study.name, {}};
    for (auto& [name, curve] : curves) all.points.insert(all.points.end(), curve.begin(), curve.end());
    chart.series.push_back(std::move(all));
    return chart;
  }
  // In the order of the points, which is that of the axes.
  for (const PointAnswer& point : points) {
    const auto curve = curves.find(shared_part(study, point.index, axes));
    if (curve == curves.end()) continue;
    chart.series.push_back({curve->first.empty() ? chart.y.label : curve->first, std::move(curve->second)});
    curves.erase(curve);
  }
  return chart;
}

std::string saturation_sentence(const SweepStudy& study, const std::vector<PointAnswer>& points,
                                const ChartAxes& axes) {
  const std::vector<Column> columns = study.columns();
  const Column& x = columns[place_of(columns, axes.x)];
  const Column& y = columns[place_of(columns, axes.y)];
  std::optional<double> earliest, latest, last, least_ratio, greatest_ratio;
  const bool descends = is_descending(study, axes.x);
  Curves curves = curves_of(study, points, axes);
  for (auto& [name, curve] : curves) {
    if (curve.size() < 2) continue;
    if (descends) std::ranges::reverse(curve);
    const double settled = settled_at(curve);
    const double ratio = curve.back().y / curve.front().y;
    const auto before = [descends](double a, double b) { return descends ? a > b : a < b; };
    earliest = std::min(earliest.value_or(settled), settled, before);
    latest = std::max(latest.value_or(settled), settled, before);
    last = curve.back().x;
    least_ratio = std::min(least_ratio.value_or(ratio), ratio);
    greatest_ratio = std::max(greatest_ratio.value_or(ratio), ratio);
  }
  if (!latest) return {};
  const std::string unit = x.unit.empty() ? "" : " " + x.unit;
  std::string text = fmt::format("Over the whole range of {}, {} becomes {:.2f} to {:.2f} times what it was at first",
                                 x.heading, y.heading, *least_ratio, *greatest_ratio);
  if (*latest == *last && *earliest == *last) return text + ", and still moves by more than 1 % at its end.";
  const std::string from = *earliest == *latest ? fmt::format("{:g}{}", *latest, unit)
                                                : fmt::format("{:g} to {:g}{}", *earliest, *latest, unit);
  return text + fmt::format("; from {} on, by case, it stays within 1 % of where it ends.", from);
}

}  // namespace c3sim::study
