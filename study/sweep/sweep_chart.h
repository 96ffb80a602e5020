// Shows how a quantity follows an axis: as a chart, and as a sentence about what a larger x still gains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/report/chart.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// Answers that differ by less than this share count as equal.
inline constexpr double worth_having = 0.01;

// Returns "0.50 to 0.75 times", or "0.50 times" where both ends read the same.
std::string times_text(double least, double greatest);

class SweepChart {
 public:
  // A curve joins points that differ only in x. With `of_medians`, for points that are drawn or too many, the points of
  // a case at or near the same x become one mark: the median of their y, with a bar that holds 90 % of them. The study
  // must outlive the chart.
  SweepChart(const SweepStudy& study, const ChartAxes& axes, bool of_medians);

  // Adds a point that has an answer. `cost` is its cost in the first objective, if there is one.
  void add(const Point& point, const PointAnswer& answer, std::optional<double> cost);
  // Returns one chart with a series for each curve. Where a reader could not tell the curves apart, returns a chart
  // for each case; its series are the values of the axis with the largest effect, each with the best points over all
  // other axes. Returns none where no point has numbers on both axes. Points on the front are marked.
  using IsOnFront = std::function<bool(std::uint64_t index)>;
  std::vector<ScatterChart> charts(const IsOnFront& is_on_front) const;
  // Returns how y changes over the whole range of x and from where on it changes by less than 1 %, or why nothing is
  // drawn. Empty where there is no range, or where x distinguishes cases.
  std::string sentence() const;

 private:
  struct Place {
    double x = 0.0;
    double y = 0.0;
    std::uint64_t index = 0;
    std::optional<double> cost{}, low{}, high{};
  };
  using Values = std::vector<std::size_t>;  // indices of values, by shared axis
  struct Seen {
    const Values* which;
    const Place* place;
  };
  using Axes = std::vector<std::size_t>;  // indices into shared_
  using Marks = std::vector<ScatterPoint>;
  struct Curve {
    Values which;  // those of one of its points
    Marks points;  // with ascending x
  };
  using Panels = std::vector<std::vector<Curve>>;  // in the order of the axes
  // Parts says what the shared axes distinguish: panels, curves within a panel, or neither, in which case a curve has
  // the best point of all values.
  struct Parts {
    Axes panels{}, colours{}, rest{};
  };
  Parts parts() const;
  Parts all_coloured() const;
  std::optional<std::size_t> axis_of_most_effect(const Axes& of_panels) const;
  Panels panels(const Parts& parts, const IsOnFront& is_on_front) const;
  static Marks marks_of(const std::vector<Seen>& seen);  // sorted by x
  static Values values_on(const Values& which, const Axes& axes);
  const SweepAxis& axis(std::size_t shared) const { return study_.points.axes()[shared_[shared]]; }
  // Returns the values on the given shared axes: "bytes 64MiB, collective all_gather", or without names of axes.
  std::string name_of(const Values& which, const Axes& axes, bool names_axes = true) const;

  const SweepStudy& study_;
  ChartAxes axes_;
  bool of_medians_;
  std::vector<Column> columns_;
  std::vector<std::pair<std::size_t, std::string>> only_;  // axes, and the label that points must have to be shown
  std::vector<std::size_t> shared_;                        // axes whose value all points of a curve share
  std::map<Values, std::vector<Place>> places_;
};

}  // namespace c3sim::study
