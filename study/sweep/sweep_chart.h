// How a quantity follows an axis: as a chart, and as a sentence about what more of it still buys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/report/chart.h"
#include "study/sweep/point.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

std::size_t place_of(const std::vector<Column>& columns, const std::string& key);
std::optional<double> number_of(const Cell& cell);

class SweepChart {
 public:
  // A curve goes through the points that differ in nothing but x. Of medians, for points that are drawn or too many for
  // that: the points of a case at or near the same x become one mark, the median of their y, with a bar that holds nine
  // in ten of them. The study outlives the chart.
  SweepChart(const SweepStudy& study, const ChartAxes& axes, bool of_medians);

  // A point that has an answer.
  void add(const PointAnswer& point);
  // A series for each curve, or one of all where there are more than a reader can tell apart; none where no point has
  // a number of both axes.
  ScatterChart chart() const;
  // What the whole range of x does to y, and from where on more of it changes y by less than 1 %; or why nothing is
  // drawn. Empty where there is no range, or x is what cases differ in.
  std::string sentence() const;

 private:
  struct Place {
    double x = 0.0;
    double y = 0.0;
    std::uint64_t index = 0;
  };
  // An axis whose value all points of a curve share.
  struct SharedAxis {
    const SweepAxis* axis = nullptr;
    std::size_t column = 0;
    std::vector<Cell> cells;  // of its values
  };
  void share(const SweepAxis& axis);
  std::vector<ScatterSeries> curves() const;
  static std::vector<ScatterPoint> marks_of(std::vector<Place> places);

  const SweepStudy& study_;
  ChartAxes axes_;
  bool of_medians_;
  std::vector<Column> columns_;
  std::size_t x_ = 0;  // places of columns
  std::size_t y_ = 0;
  std::vector<std::pair<std::size_t, Cell>> only_;  // cells of columns that points have which are shown
  std::vector<SharedAxis> shared_;
  std::map<std::vector<std::size_t>, std::vector<Place>> places_;  // by the values of shared axes
};

}  // namespace c3sim::study
