#include "study/sweep/sweep_chart.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "study/report/statistics.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_curves = 12;  // as many as a reader can tell apart
constexpr std::size_t most_panels = 12;
constexpr std::size_t most_marks = 24;  // in a series; with more distinct x, neighbouring points share a mark
constexpr std::size_t fewest_together = fewest_draws;

// Returns the x from which on a curve stays within 1 % of its last value.
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

// Returns whether the values of an axis are listed from the greatest to the least.
bool is_descending(const SweepStudy& study, const std::string& x) {
  for (const SweepAxis& axis : study.points.axes()) {
    if (axis.column().key != x || axis.values.size() < 2) continue;
    const std::optional<double> first = number_of(axis.cell(axis.values.front()));
    const std::optional<double> last = number_of(axis.cell(axis.values.back()));
    return first && last && *first > *last;
  }
  return false;
}

std::string meaning_of_marks(const SweepStudy& study) {
  if (study.objectives.size() < 2) return study.cases.empty() ? "best, or as good" : "best of its case, or as good";
  std::vector<std::string> names;
  for (const Objective& objective : study.objectives) names.push_back(objective.of);
  return fmt::format("on the Pareto front of {}{}", fmt::join(names, " and "), study.cases.empty() ? "" : ", by case");
}

}  // namespace

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
    only_.emplace_back(place_of(columns_, key), axis.cell(axis.values[axis.place_of(only->second)]));
  }
  if (of_medians) {
    for (const std::size_t place : study.cases) share(place);
  } else {
    for (std::size_t place = 0; place < all.size(); ++place) share(place);
  }
}

void SweepChart::share(std::size_t place) {
  const SweepAxis& axis = study_.points.axes()[place];
  const std::string key = axis.column().key;
  if (!axis.varies() || axis.interval || key == axes_.x || key == axes_.y || axes_.only.contains(key)) return;
  SharedAxis& one =
      shared_.emplace_back(SharedAxis{&axis, place_of(columns_, key), {}, std::ranges::count(study_.cases, place) > 0});
  for (const AxisValue& value : axis.values) one.cells.push_back(axis.cell(value));
}

void SweepChart::add(const PointAnswer& point, std::optional<double> cost) {
  const std::optional<double> x = number_of(point.cells[x_]);
  const std::optional<double> y = number_of(point.cells[y_]);
  const auto is_shown = [&](const auto& wanted) { return point.cells[wanted.first] == wanted.second; };
  if (!x || !y || !std::ranges::all_of(only_, is_shown)) return;
  Values which;
  for (const SharedAxis& one : shared_) {
    which.push_back(
        static_cast<std::size_t>(std::ranges::find(one.cells, point.cells[one.column]) - one.cells.begin()));
  }
  Place& place = places_[which].emplace_back(Place{*x, *y, point.index, cost});
  if (const SweepStudy::Bounds* const bounds = study_.bounds_of(axes_.y)) {
    place.low = number_of(point.cells[place_of(columns_, bounds->low)]);
    place.high = number_of(point.cells[place_of(columns_, bounds->high)]);
  }
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
    // Points with the same x share a mark.
    if (!is_last && (xs.size() < together || places[i + 1].x == places[i].x)) continue;
    marks.push_back(mark_of(xs, ys));
    xs.clear();
    ys.clear();
  }
  return marks;
}

// Returns curves in the order of the axes, each with ascending x. Too many curves of medians become one.
std::vector<ScatterSeries> SweepChart::curves(const IsOnFront& is_on_front) const {
  if (of_medians_ && places_.size() > most_curves) {
    std::vector<Place> all;
    for (const auto& [which, places] : places_) all.insert(all.end(), places.begin(), places.end());
    return {{study_.name, marks_of(std::move(all))}};
  }
  std::vector<ScatterSeries> curves;
  for (const auto& [which, places] : places_) {
    ScatterSeries& curve = curves.emplace_back();
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      curve.name += (i == 0 ? "" : ", ") + shared_[i].told(which[i]);
    }
    if (shared_.empty()) curve.name = columns_[y_].heading;
    if (of_medians_) {
      curve.points = marks_of(places);
      continue;
    }
    for (const Place& place : places) {
      curve.points.push_back(point_of(place, fmt::format("point {}", place.index), is_on_front));
    }
    std::ranges::stable_sort(curve.points, {}, &ScatterPoint::x);
  }
  return curves;
}

ScatterPoint SweepChart::point_of(const Place& place, std::string label, const IsOnFront& is_on_front) {
  ScatterPoint point{.x = place.x, .y = place.y, .label = std::move(label)};
  point.y_low = place.low;
  point.y_high = place.high;
  point.marked = is_on_front(place.index);
  return point;
}

std::string SweepChart::name_of(const Values& which, const std::vector<std::size_t>& axes) const {
  std::string name;
  for (const std::size_t i : axes) {
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", shared_[i].axis->name, shared_[i].told(which[i]));
  }
  return name;
}

// Returns the case axes, as long as a reader can look at the number of panels.
std::vector<std::size_t> SweepChart::panel_axes() const {
  std::vector<std::size_t> axes;
  std::size_t panels = 1;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (!shared_[i].is_case || panels * shared_[i].cells.size() > most_panels) continue;
    panels *= shared_[i].cells.size();
    axes.push_back(i);
  }
  return axes;
}

// Returns the other axis whose values change the mean of y most, relative to the mean of the panel.
std::optional<std::size_t> SweepChart::axis_of_most_effect(const std::vector<std::size_t>& of_panels) const {
  std::optional<std::size_t> found;
  double most = -1.0;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (std::ranges::count(of_panels, i) > 0 || shared_[i].cells.size() > most_curves) continue;
    std::map<Values, std::map<std::size_t, std::vector<double>>> by_value;  // by panel
    for (const auto& [which, places] : places_) {
      Values panel;
      for (const std::size_t axis : of_panels) panel.push_back(which[axis]);
      for (const Place& place : places) by_value[panel][which[i]].push_back(place.y);
    }
    double effect = 0.0;
    for (const auto& [panel, values] : by_value) {
      std::vector<double> means;
      for (const auto& [value, ys] : values) means.push_back(mean(ys));
      const auto [low, high] = std::ranges::minmax(means);
      const double scale = std::abs(mean(means));
      if (scale > 0.0) effect += (high - low) / scale;
    }
    if (effect > most) {
      most = effect;
      found = i;
    }
  }
  return found;
}

std::vector<ScatterChart> SweepChart::panels(const ScatterChart& frame, const IsOnFront& is_on_front) const {
  const std::vector<std::size_t> of_panels = panel_axes();
  const std::optional<std::size_t> colour = axis_of_most_effect(of_panels);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (std::ranges::count(of_panels, i) == 0 && i != colour) rest.push_back(i);
  }
  // Compares costs in the first objective, or y where there is no objective.
  const auto is_better = [](const Place& one, const Place& other) {
    return one.cost && other.cost ? *one.cost < *other.cost : one.y < other.y;
  };
  struct Best {
    Place place;
    const Values* which;
  };
  std::map<Values, std::map<std::size_t, std::map<double, Best>>> best;  // by panel, colour and x
  for (const auto& [which, places] : places_) {
    Values panel;
    for (const std::size_t axis : of_panels) panel.push_back(which[axis]);
    for (const Place& place : places) {
      const auto [known, is_new] = best[panel][colour ? which[*colour] : 0].try_emplace(place.x, Best{place, &which});
      if (!is_new && is_better(place, known->second.place)) known->second = {place, &which};
    }
  }
  std::vector<ScatterChart> charts;
  for (const auto& [panel, curves] : best) {
    ScatterChart& chart = charts.emplace_back(frame);
    chart.joined = true;
    chart.is_panel = best.size() > 1;
    chart.legend = colour ? shared_[*colour].axis->name : "";
    if (!panel.empty()) {
      const Values& any = *curves.begin()->second.begin()->second.which;
      chart.title += ": " + name_of(any, of_panels);
      chart.id += fmt::format("_{}", charts.size());
    }
    for (const auto& [value, by_x] : curves) {
      ScatterSeries& curve = chart.series.emplace_back();
      curve.name = colour ? shared_[*colour].told(value) : columns_[y_].heading;
      for (const auto& [x, one] : by_x) {
        const std::string chosen = name_of(*one.which, rest);
        curve.points.push_back(point_of(
            one.place, fmt::format("point {}{}{}", one.place.index, chosen.empty() ? "" : ": ", chosen), is_on_front));
      }
    }
  }
  if (!charts.empty() && !rest.empty()) {
    std::vector<std::string> names;
    for (const std::size_t i : rest) names.push_back(shared_[i].axis->name);
    charts.back().caption = fmt::format(
        "A point is the best of all that differ in {}: which one it is, is told where a "
        "reader points at it.",
        fmt::join(names, ", "));
  }
  return charts;
}

std::vector<ScatterChart> SweepChart::charts(const IsOnFront& is_on_front) const {
  const Column& x = columns_[x_];
  const Column& y = columns_[y_];
  ScatterChart frame{.id = axes_.y + "_by_" + axes_.x,
                     .title = fmt::format("{} by {}", y.heading, x.heading),
                     .x = {x.heading, x.unit, axes_.logarithmic_x},
                     .y = {y.heading, y.unit, axes_.logarithmic_y}};
  for (const auto& [axis, label] : axes_.only) {
    frame.id += "_" + label;
    const auto known =
        std::ranges::find(study_.points.axes(), axis, [](const SweepAxis& one) { return one.column().key; });
    frame.title += fmt::format(", {} {}", axis, known == study_.points.axes().end() ? label : known->told(label));
  }
  std::ranges::replace_if(
      frame.id, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  if (of_medians_) {
    frame.caption =
        "A mark is the median of the points at or near its x, and its bar holds nine in ten of them: they differ in "
        "what the chart does not show.";
  }
  std::vector<ScatterChart> charts;
  if (!of_medians_ && places_.size() > most_curves) {
    charts = panels(frame, is_on_front);
  } else {
    frame.series = curves(is_on_front);
    frame.joined = true;
    std::vector<std::string> names;
    for (const SharedAxis& one : shared_) names.push_back(one.axis->name);
    if (frame.series.size() > 1) frame.legend = fmt::format("{}", fmt::join(names, ", "));
    if (!frame.series.empty()) charts.push_back(std::move(frame));
  }
  for (ScatterChart& chart : charts) {
    std::ptrdiff_t points = 0;
    std::ptrdiff_t marked = 0;
    for (const ScatterSeries& series : chart.series) {
      points += std::ssize(series.points);
      marked += std::ranges::count(series.points, true, &ScatterPoint::marked);
    }
    if (marked > 0 && marked < points) {
      chart.marks = meaning_of_marks(study_);
      continue;
    }
    for (ScatterSeries& series : chart.series) {
      for (ScatterPoint& point : series.points) point.marked = false;
    }
  }
  return charts;
}

std::string times_text(double least, double greatest) {
  const std::string low = fmt::format("{:.2f}", least);
  const std::string high = fmt::format("{:.2f}", greatest);
  return low == high ? low + " times" : low + " to " + high + " times";
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
  std::vector<ScatterSeries> all = curves([](std::uint64_t) { return false; });
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
  const std::string by = all.size() == 1 ? "" : study_.cases.empty() ? ", by curve" : ", by case";
  const std::string range = fmt::format("Over the whole range of {}, {}{}", x.heading, of_medians_ ? "the median " : "",
                                        columns_[y_].heading);
  if (std::abs(*least_ratio - 1.0) < worth_having && std::abs(*greatest_ratio - 1.0) < worth_having) {
    return range + " ends within 1 % of where it begins.";
  }
  const std::string text = range + " becomes " + times_text(*least_ratio, *greatest_ratio) + " what it was at first";
  if (of_medians_) return text + by + '.';
  if (*latest == *last && *earliest == *last) return text + ", and still moves by more than 1 % at its end.";
  const std::string unit = x.unit.empty() ? "" : " " + x.unit;
  const std::string from = *earliest == *latest ? fmt::format("{:g}{}", *latest, unit)
                                                : fmt::format("{:g} to {:g}{}", *earliest, *latest, unit);
  return text + fmt::format("; from {} on{}, it stays within 1 % of where it ends.", from, by);
}

}  // namespace c3sim::study
