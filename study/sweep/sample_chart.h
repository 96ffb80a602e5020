// A chart of points that are drawn, or too many for a curve through each: what y is at an x, whatever else differs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "study/report/chart.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// The points of a case at or near the same x become one mark: the median of their y, with a bar that holds nine in ten
// of them.
class SampleChart {
 public:
  SampleChart(const SweepStudy& study, const ChartAxes& axes);

  void add(const PointAnswer& point);
  // One series for each case, or one of all where there are more than a reader can tell apart; none where x or y is no
  // number.
  ScatterChart chart() const;

 private:
  struct Place {
    double x = 0.0;
    double y = 0.0;
  };
  struct CaseAxis {
    const SweepAxis* axis = nullptr;
    std::size_t column = 0;
    std::vector<Cell> cells;  // of its values
  };
  static std::vector<ScatterPoint> marks_of(std::vector<Place> places);
  std::string name_of(const SweepStudy::Case& which) const;

  const SweepStudy& study_;
  ChartAxes axes_;
  std::size_t x_ = 0;  // places of columns
  std::size_t y_ = 0;
  std::vector<CaseAxis> cases_;  // those that are not x
  std::map<SweepStudy::Case, std::vector<Place>> places_;
};

// What the whole range of x does to the medians of such a chart; empty where there is no range.
std::string sentence_of_medians(const SweepStudy& study, const ChartAxes& axes, const ScatterChart& chart);

}  // namespace c3sim::study
