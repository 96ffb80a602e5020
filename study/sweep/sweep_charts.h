// How a quantity follows an axis: as charts, and as a sentence about what more of it still buys.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/report/chart.h"
#include "study/sweep/point.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

inline constexpr std::size_t most_curves = 12;  // that a reader can tell apart

std::size_t place_of(const std::vector<Column>& columns, const std::string& key);
std::optional<double> number_of(const Cell& cell);
// Whether the values of an axis are listed from the greatest to the least.
bool is_descending(const SweepStudy& study, const std::string& x);
// A chart of these axes, with its titles and without points.
ScatterChart empty_chart(const SweepStudy& study, const ChartAxes& axes);

// Points that differ in nothing but x, ascending, by what they share: "all_gather, 64MiB".
using Curves = std::map<std::string, std::vector<ScatterPoint>>;
Curves curves_of(const SweepStudy& study, const std::vector<PointAnswer>& points, const ChartAxes& axes);

ScatterChart sweep_chart(const SweepStudy& study, const std::vector<PointAnswer>& points, const ChartAxes& axes);

// From where on more of x changes y by less than 1 %: "Beyond gpu.sdma.engines = 9 ...". Empty where x is no number, or
// no curve has two points.
std::string saturation_sentence(const SweepStudy& study, const std::vector<PointAnswer>& points, const ChartAxes& axes);

}  // namespace c3sim::study
