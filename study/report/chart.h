// Describes charts as plain data: bars, points and timelines. The data say what is shown; the page that draws
// them (study/report/page.h) decides sizes, shapes and colours. Values that are not finite are left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "study/report/statistics.h"

namespace c3sim::study {

// `Published` is a published figure that is shown with a predicted one; low == high if one value was published.
using Published = Interval;

struct Bar {
  std::string label;
  std::vector<std::optional<double>> values;             // one per series; no bar if absent
  std::vector<std::optional<Published>> published = {};  // one per series, drawn as a mark on the bar; empty: none
  std::vector<std::optional<Interval>> reaches = {};     // 90 % intervals of the values, drawn as error bars
};

// A Level is a line across all bars, such as a speedup of 1.
struct Level {
  std::string name;
  double value = 0.0;
};

// A BarChart shows the values of several series for each label, clustered or stacked. In a chart with a single series,
// each bar has the colour of a series with the name of the bar.
struct BarChart {
  enum class Layout { clustered, stacked };  // stacked: negative values lie below the baseline

  std::string id;  // id in the page and stem of picture files: "fraction_of_ideal"
  std::string title;
  std::string value_axis;  // quantity that the bars measure, with its unit
  Layout layout = Layout::clustered;
  std::vector<std::string> series = {};
  std::vector<Bar> bars = {};
  double baseline = 0.0;  // value from which bars grow; the axis includes it
  int decimals = 0;       // of the values that are written as text
  std::vector<Level> levels = {};
  std::string caption = {};  // explanation below the chart; may be empty
};

struct Axis {
  std::string label;
  std::string unit = {};  // "us"; may be empty
  bool logarithmic = false;
  std::optional<double> low = {};  // end of the axis; if absent, the data decide
  std::optional<double> high = {};
};

// A ScatterPoint has error bars from low to high on an axis whose limits are present.
struct ScatterPoint {
  double x = 0.0;
  double y = 0.0;
  std::string label = {};  // shown when the reader points at it
  std::optional<double> x_low = {};
  std::optional<double> x_high = {};
  std::optional<double> y_low = {};
  std::optional<double> y_high = {};
  bool marked = false;  // drawn with a ring
};

struct ScatterSeries {
  std::string name;
  std::vector<ScatterPoint> points;
};

// A GuideLine is a straight line from one point to another on the drawn axes, such as the diagonal or y = 0. On a
// logarithmic axis both points must be above 0.
struct GuideLine {
  std::string name;
  double from_x = 0.0;
  double from_y = 0.0;
  double to_x = 0.0;
  double to_y = 0.0;
};

struct ScatterChart {
  std::string id;
  std::string title;
  Axis x = {};
  Axis y = {};
  std::vector<ScatterSeries> series = {};
  std::vector<GuideLine> guides = {};
  bool toggles = true;  // the legend switches series on and off
  bool joined = false;  // a line joins the points of a series, in their order
  std::string caption = {};
  std::string legend = {};  // quantity that the names of series are values of; may be empty
  std::string marks = {};   // meaning of a ringed point; empty if there is none
  bool is_panel = false;    // drawn small, next to other panels
};

// A TimelineBar is one activity in a row of a timeline.
struct TimelineBar {
  double start = 0.0;
  double end = 0.0;
  std::size_t series = 0;
  std::string label = {};
  std::string detail = {};  // shown when the reader points at it; may be empty
};

struct TimelineRow {
  std::string name;
  std::vector<TimelineBar> bars = {};
};

// A TimelineChart shows what ran when, from 0 to the last end, in microseconds. Rows go from top to bottom.
struct TimelineChart {
  std::string id;
  std::string title;
  std::vector<std::string> series = {};
  std::vector<TimelineRow> rows = {};
  std::string caption = {};
};

using Chart = std::variant<BarChart, ScatterChart, TimelineChart>;

}  // namespace c3sim::study
