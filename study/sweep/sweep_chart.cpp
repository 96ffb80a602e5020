#include "study/sweep/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "study/report/statistics.h"
#include "study/uncertainty/interval.h"

namespace c3sim::study {

namespace {

constexpr double worth_having = 0.01;    // a change of less is none
constexpr std::size_t most_curves = 12;  // that a reader can tell apart
constexpr std::size_t most_marks = 24;   // of a series; of more different x, neighbours share one
constexpr std::size_t fewest_together = fewest_draws;

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

// Whether the values of an axis are listed from the greatest to the least.
bool is_descending(const SweepStudy& study, const std::string& x) {
  for (const SweepAxis& axis : study.points.axes()) {
    if (axis.column().key != x || axis.values.size() < 2) continue;
    const std::optional<double> first = number_of(axis.cell(axis.values.front()));
    const std::optional<double> last = number_of(axis.cell(axis.values.back()));
    return first && last && *first > *last;
  }
  return false;
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

SweepChart::SweepChart(const SweepStudy& study, const ChartAxes& axes, bool of_medians)
    : study_(study),
      axes_(axes),
      of_medians_(of_medians),
      columns_(study.columns()),
      x_(place_of(columns_, axes.x)),
      y_(place_of(columns_, axes.y)) {
  const std::vector<SweepAxis>& all = study.points.axes();
  for (const SweepAxis& axis : all) {
    const std::string key = axis.column().key;
    const auto only = axes.only.find(key);
    if (only == axes.only.end() || !axis.varies()) continue;
    only_.emplace_back(place_of(columns_, key),
                       axis.cell(*std::ranges::find(axis.values, only->second, &AxisValue::label)));
  }
  if (of_medians) {
    for (const std::size_t place : study.cases) share(all[place]);
  } else {
    for (const SweepAxis& axis : all) share(axis);
  }
}

void SweepChart::share(const SweepAxis& axis) {
  const std::string key = axis.column().key;
  if (!axis.varies() || axis.interval || key == axes_.x || key == axes_.y || axes_.only.contains(key)) return;
  SharedAxis& one = shared_.emplace_back(SharedAxis{&axis, place_of(columns_, key), {}});
  for (const AxisValue& value : axis.values) one.cells.push_back(axis.cell(value));
}

void SweepChart::add(const PointAnswer& point) {
  const std::optional<double> x = number_of(point.cells[x_]);
  const std::optional<double> y = number_of(point.cells[y_]);
  const auto is_shown = [&](const auto& wanted) { return point.cells[wanted.first] == wanted.second; };
  if (!x || !y || !std::ranges::all_of(only_, is_shown)) return;
  std::vector<std::size_t> which;
  for (const SharedAxis& one : shared_) {
    which.push_back(
        static_cast<std::size_t>(std::ranges::find(one.cells, point.cells[one.column]) - one.cells.begin()));
  }
  places_[which].push_back({*x, *y, point.index});
}

std::vector<ScatterPoint> SweepChart::marks_of(std::vector<Place> places) {
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

// In the order of the axes, each ascending; of medians at most as many as a reader can tell apart.
std::vector<ScatterSeries> SweepChart::curves() const {
  if (of_medians_ && places_.size() > most_curves) {
    std::vector<Place> all;
    for (const auto& [which, places] : places_) all.insert(all.end(), places.begin(), places.end());
    return {{study_.name, marks_of(std::move(all))}};
  }
  std::vector<ScatterSeries> curves;
  for (const auto& [which, places] : places_) {
    ScatterSeries& curve = curves.emplace_back();
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      curve.name += (i == 0 ? "" : ", ") + shared_[i].axis->values.at(which[i]).label;
    }
    if (shared_.empty()) curve.name = columns_[y_].heading;
    if (of_medians_) {
      curve.points = marks_of(places);
      continue;
    }
    for (const Place& place : places) curve.points.push_back({place.x, place.y, fmt::format("point {}", place.index)});
    std::ranges::stable_sort(curve.points, {}, &ScatterPoint::x);
  }
  return curves;
}

ScatterChart SweepChart::chart() const {
  const Column& x = columns_[x_];
  const Column& y = columns_[y_];
  ScatterChart chart{.id = axes_.y + "_by_" + axes_.x,
                     .title = fmt::format("{} by {}", y.heading, x.heading),
                     .x = {x.heading, x.unit, axes_.logarithmic_x},
                     .y = {y.heading, y.unit, axes_.logarithmic_y},
                     .series = curves()};
  for (const auto& [axis, label] : axes_.only) {
    chart.id += "_" + label;
    chart.title += fmt::format(", {} {}", axis, label);
  }
  std::ranges::replace_if(
      chart.id, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  chart.joined = chart.series.size() <= most_curves;
  if (!chart.joined) {
    std::ranges::stable_sort(chart.series, {}, &ScatterSeries::name);
    ScatterSeries all{study_.name, {}};
    for (ScatterSeries& curve : chart.series) std::ranges::move(curve.points, std::back_inserter(all.points));
    chart.series = {std::move(all)};
  }
  if (of_medians_) {
    chart.caption =
        "A mark is the median of the points at or near its x, and its bar holds nine in ten of them: they differ in "
        "what the chart does not show.";
  }
  return chart;
}

std::string SweepChart::sentence() const {
  if (places_.empty()) {
    return fmt::format("{} by {} is not drawn: no point has a number of both.", axes_.y, axes_.x);
  }
  const auto is_x = [&](std::size_t place) { return study_.points.axes()[place].column().key == axes_.x; };
  if (!of_medians_ && std::ranges::any_of(study_.cases, is_x)) return {};
  std::optional<double> earliest, latest, last, least_ratio, greatest_ratio;
  const bool descends = is_descending(study_, axes_.x);
  const auto before = [descends](double a, double b) { return descends ? a > b : a < b; };
  std::vector<ScatterSeries> all = curves();
  for (ScatterSeries& series : all) {
    std::vector<ScatterPoint>& curve = series.points;
    if (curve.size() < 2 || (of_medians_ && (curve.front().y == 0.0 || curve.back().y == 0.0))) continue;
    if (descends) std::ranges::reverse(curve);
    const double settled = settled_at(curve);
    const double ratio = curve.back().y / curve.front().y;
    earliest = std::min(earliest.value_or(settled), settled, before);
    latest = std::max(latest.value_or(settled), settled, before);
    last = curve.back().x;
    least_ratio = std::min(least_ratio.value_or(ratio), ratio);
    greatest_ratio = std::max(greatest_ratio.value_or(ratio), ratio);
  }
  if (!latest) return {};
  const Column& x = columns_[x_];
  const bool is_one = of_medians_ && all.size() == 1;
  const std::string text = fmt::format(
      "Over the whole range of {}, {}{} becomes {} times what it was at first", x.heading,
      of_medians_ ? "the median " : "", columns_[y_].heading,
      is_one ? fmt::format("{:.2f}", *least_ratio) : fmt::format("{:.2f} to {:.2f}", *least_ratio, *greatest_ratio));
  if (of_medians_) return text + (is_one ? "." : ", by case.");
  if (*latest == *last && *earliest == *last) return text + ", and still moves by more than 1 % at its end.";
  const std::string unit = x.unit.empty() ? "" : " " + x.unit;
  const std::string from = *earliest == *latest ? fmt::format("{:g}{}", *latest, unit)
                                                : fmt::format("{:g} to {:g}{}", *earliest, *latest, unit);
  return text + fmt::format("; from {} on, by case, it stays within 1 % of where it ends.", from);
}

}  // namespace c3sim::study
