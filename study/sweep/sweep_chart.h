// How a quantity follows an axis: as a chart, and as a sentence about what more of it still buys.
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

// A difference of less is none: answers are not told apart by it.
inline constexpr double worth_having = 0.01;

// "0.50 to 0.75 times", or "0.50 times" where both read the same.
std::string times_text(double least, double greatest);

class SweepChart {
 public:
  // A curve goes through the points that differ in nothing but x. Of medians, for points that are drawn or too many for
  // that: the points of a case at or near the same x become one mark, the median of their y, with a bar that holds nine
  // in ten of them. The study outlives the chart.
  SweepChart(const SweepStudy& study, const ChartAxes& axes, bool of_medians);

  // A point that has an answer; `cost` is what it has less of where it is better, if anything is looked for.
  void add(const PointAnswer& point, std::optional<double> cost);
  // One chart with a series for each curve. Where there are more than a reader can tell apart, one for each case, whose
  // series are the values of the axis that matters most, each with the best point of all else. None where no point has
  // a number of both axes. Points on the front are marked.
  using IsOnFront = std::function<bool(std::uint64_t index)>;
  std::vector<ScatterChart> charts(const IsOnFront& is_on_front) const;
  // What the whole range of x does to y, and from where on more of it changes y by less than 1 %; or why nothing is
  // drawn. Empty where there is no range, or x is what cases differ in.
  std::string sentence() const;

 private:
  struct Place {
    double x = 0.0;
    double y = 0.0;
    std::uint64_t index = 0;
    std::optional<double> cost{}, low{}, high{};
  };
  // An axis whose value all points of a curve share.
  struct SharedAxis {
    const SweepAxis* axis = nullptr;
    std::size_t column = 0;
    std::vector<Cell> cells;  // of its values
    bool is_case = false;

    std::string told(std::size_t value) const { return axis->told(axis->values.at(value).label); }
  };
  using Values = std::vector<std::size_t>;  // by shared axis
  void share(std::size_t axis);
  std::vector<ScatterSeries> curves(const IsOnFront& is_on_front) const;
  std::vector<std::size_t> panel_axes() const;  // places of shared axes
  std::optional<std::size_t> axis_of_most_effect(const std::vector<std::size_t>& of_panels) const;
  std::vector<ScatterChart> panels(const ScatterChart& frame, const IsOnFront& is_on_front) const;
  // "bytes 64MiB, collective all_gather", of these of the shared axes.
  std::string name_of(const Values& which, const std::vector<std::size_t>& axes) const;
  static ScatterPoint point_of(const Place& place, std::string label, const IsOnFront& is_on_front);
  static std::vector<ScatterPoint> marks_of(std::vector<Place> places);

  const SweepStudy& study_;
  ChartAxes axes_;
  bool of_medians_;
  std::vector<Column> columns_;
  std::size_t x_ = 0;  // places of columns
  std::size_t y_ = 0;
  std::vector<std::pair<std::size_t, Cell>> only_;  // cells of columns that points have which are shown
  std::vector<SharedAxis> shared_;
  std::map<Values, std::vector<Place>> places_;
};

}  // namespace c3sim::study
