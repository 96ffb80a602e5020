#include "study/sweep/sweep_chart.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include "sim/config/config_text.h"
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
    : study_(study), axes_(axes), of_medians_(of_medians), columns_(study.columns()) {
  for (std::size_t place = 0; place < study.points.axes().size(); ++place) {
    const SweepAxis& axis = study.points.axes()[place];
    const std::string key = axis.column().key;
    if (!axis.varies() || axis.interval || key == axes.x || key == axes.y) continue;
    if (const auto only = axes.only.find(key); only != axes.only.end()) {
      only_.emplace_back(place, only->second);
    } else if (!of_medians || std::ranges::count(study.cases, place) > 0) {
      shared_.push_back(place);
    }
  }
}

void SweepChart::add(const Point& point, const PointAnswer& answer, std::optional<double> cost) {
  const auto number = [&](const std::string& key) { return number_of(answer.cells[place_of(columns_, key)]); };
  const std::optional<double> x = number(axes_.x);
  const std::optional<double> y = number(axes_.y);
  const auto is_shown = [&](const auto& wanted) { return point.values[wanted.first].label == wanted.second; };
  if (!x || !y || !std::ranges::all_of(only_, is_shown)) return;
  Values which;
  for (const std::size_t axis : shared_) {
    which.push_back(study_.points.axes()[axis].place_of(point.values[axis].label));
  }
  Place& place = places_[which].emplace_back(Place{*x, *y, answer.index, cost});
  if (const SweepStudy::Bounds* const bounds = study_.bounds_of(axes_.y)) {
    place.low = number(bounds->low);
    place.high = number(bounds->high);
  }
}

std::vector<ScatterPoint> SweepChart::marks_of(const std::vector<Seen>& seen) {
  std::set<double> different;
  for (const Seen& one : seen) different.insert(one.place->x);
  const std::size_t together =
      different.size() <= most_marks ? 1 : std::max(fewest_together, (seen.size() - 1) / most_marks + 1);
  std::vector<ScatterPoint> marks;
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    xs.push_back(seen[i].place->x);
    ys.push_back(seen[i].place->y);
    const bool is_last = i + 1 == seen.size();
    // Points with the same x share a mark.
    if (!is_last && (xs.size() < together || seen[i + 1].place->x == xs.back())) continue;
    marks.push_back(mark_of(xs, ys));
    xs.clear();
    ys.clear();
  }
  return marks;
}

SweepChart::Panels SweepChart::panels(const Parts& parts, const IsOnFront& is_on_front) const {
  std::map<Values, std::map<Values, std::vector<Seen>>> groups;
  for (const auto& [which, places] : places_) {
    std::vector<Seen>& group = groups[values_on(which, parts.panels)][values_on(which, parts.colours)];
    for (const Place& place : places) group.push_back({&which, &place});
  }
  Panels panels;
  for (auto& [panel, of_panel] : groups) {
    std::vector<Curve>& curves = panels.emplace_back();
    for (auto& [colour, seen] : of_panel) {
      // Sorts by x and, at the same x, by the cost in the first objective or, where there is no objective, by y.
      std::ranges::stable_sort(
          seen, {}, [](const Seen& one) { return std::pair(one.place->x, one.place->cost.value_or(one.place->y)); });
      Curve& curve = curves.emplace_back(Curve{*seen.front().which, of_medians_ ? marks_of(seen) : Marks{}});
      for (const auto& [which, place] : of_medians_ ? std::vector<Seen>{} : seen) {
        if (!parts.rest.empty() && !curve.points.empty() && curve.points.back().x == place->x) continue;
        const std::string chosen = name_of(*which, parts.rest);
        ScatterPoint& point = curve.points.emplace_back(ScatterPoint{.x = place->x, .y = place->y});
        point.label = fmt::format("point {}{}{}", place->index, chosen.empty() ? "" : ": ", chosen);
        point.y_low = place->low;
        point.y_high = place->high;
        point.marked = is_on_front(place->index);
      }
    }
  }
  return panels;
}

SweepChart::Values SweepChart::values_on(const Values& which, const Axes& axes) {
  Values values;
  for (const std::size_t axis : axes) values.push_back(which[axis]);
  return values;
}

std::string SweepChart::name_of(const Values& which, const Axes& axes, bool names_axes) const {
  std::string name;
  for (const std::size_t i : axes) {
    name += fmt::format("{}{}{}", name.empty() ? "" : ", ", names_axes ? axis(i).name + " " : "",
                        axis(i).told(axis(i).values[which[i]].label));
  }
  return name;
}

SweepChart::Parts SweepChart::all_coloured() const {
  Parts parts;
  parts.colours.resize(shared_.size());
  std::iota(parts.colours.begin(), parts.colours.end(), std::size_t{0});
  return parts;
}

SweepChart::Parts SweepChart::parts() const {
  if (places_.size() <= most_curves) return all_coloured();
  if (of_medians_) return {};  // one curve
  Parts parts;
  std::size_t panels = 1;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (std::ranges::count(study_.cases, shared_[i]) == 0 || panels * axis(i).values.size() > most_panels) continue;
    panels *= axis(i).values.size();
    parts.panels.push_back(i);
  }
  if (const std::optional<std::size_t> colour = axis_of_most_effect(parts.panels)) parts.colours.push_back(*colour);
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (std::ranges::count(parts.panels, i) + std::ranges::count(parts.colours, i) == 0) parts.rest.push_back(i);
  }
  return parts;
}

// Returns the other axis whose values change the mean of y most, relative to the mean of the panel.
std::optional<std::size_t> SweepChart::axis_of_most_effect(const Axes& of_panels) const {
  std::optional<std::size_t> found;
  double most = -1.0;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (std::ranges::count(of_panels, i) > 0 || axis(i).values.size() > most_curves) continue;
    std::map<Values, std::map<std::size_t, std::vector<double>>> by_value;  // by panel
    for (const auto& [which, places] : places_) {
      for (const Place& place : places) by_value[values_on(which, of_panels)][which[i]].push_back(place.y);
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

std::vector<ScatterChart> SweepChart::charts(const IsOnFront& is_on_front) const {
  const Column& x = columns_[place_of(columns_, axes_.x)];
  const Column& y = columns_[place_of(columns_, axes_.y)];
  ScatterChart frame{.id = axes_.y + "_by_" + axes_.x,
                     .title = fmt::format("{} by {}", y.heading, x.heading),
                     .x = {x.heading, x.unit, axes_.logarithmic_x},
                     .y = {y.heading, y.unit, axes_.logarithmic_y},
                     .joined = true};
  for (const auto& [place, label] : only_) {
    const SweepAxis& axis = study_.points.axes()[place];
    frame.id += "_" + label;
    frame.title += fmt::format(", {} {}", axis.column().key, axis.told(label));
  }
  frame.id = sim::underscored(frame.id);
  if (of_medians_) {
    frame.caption =
        "A mark is the median of the points at or near its x, and its bar holds nine in ten of them: they differ in "
        "what the chart does not show.";
  }
  const auto names_of = [this](const Axes& axes) {
    std::vector<std::string> names;
    for (const std::size_t i : axes) names.push_back(axis(i).name);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  const Parts parts = this->parts();
  std::vector<ScatterChart> charts;
  const Panels all = panels(parts, is_on_front);
  for (const std::vector<Curve>& panel : all) {
    ScatterChart& chart = charts.emplace_back(frame);
    chart.is_panel = all.size() > 1;
    if (!parts.panels.empty()) {
      chart.title += ": " + name_of(panel.front().which, parts.panels);
      chart.id += fmt::format("_{}", charts.size());
    }
    if (panel.size() > 1) chart.legend = names_of(parts.colours);
    std::ptrdiff_t points = 0;
    std::ptrdiff_t marked = 0;
    for (const Curve& curve : panel) {
      const std::string name = name_of(curve.which, parts.colours, false);
      chart.series.push_back({name.empty() ? y.heading : name, curve.points});
      points += std::ssize(curve.points);
      marked += std::ranges::count(curve.points, true, &ScatterPoint::marked);
    }
    if (marked > 0 && marked < points) {
      chart.marks = meaning_of_marks(study_);
      continue;
    }
    for (ScatterSeries& series : chart.series) {
      for (ScatterPoint& point : series.points) point.marked = false;
    }
  }
  if (!charts.empty() && !parts.rest.empty()) {
    charts.back().caption = fmt::format(
        "A point is the best of all that differ in {}: which one it is, is told where a reader points at it.",
        names_of(parts.rest));
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
  std::vector<Curve> all = panels(of_medians_ ? parts() : all_coloured(), [](std::uint64_t) { return false; }).front();
  for (auto& [which, curve] : all) {
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
  const Column& x = columns_[place_of(columns_, axes_.x)];
  const std::string by = all.size() == 1 ? "" : study_.cases.empty() ? ", by curve" : ", by case";
  const std::string range = fmt::format("Over the whole range of {}, {}{}", x.heading, of_medians_ ? "the median " : "",
                                        columns_[place_of(columns_, axes_.y)].heading);
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
