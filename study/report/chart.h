// Charts as plain data: bars, points, bands and timelines. They say what is shown; sizes, shapes and colours are
// decided where they are drawn, in a page (study/report/page.h). Bars and points that are not finite are left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "study/report/statistics.h"

namespace c3sim::study {

// A published figure beside a predicted one: low == high where one value was published.
using Published = Interval;

struct Bar {
  std::string label;
  std::vector<std::optional<double>> values;             // by series; no bar where absent
  std::vector<std::optional<Published>> published = {};  // by series, drawn as a mark on the bar; empty: of none
  std::vector<std::optional<Interval>> reaches = {};     // where the values lie with 90 % probability, as error bars
};

// A line across all bars: a speedup of 1.
struct Level {
  std::string name;
  double value = 0.0;
};

// For each label the values of several series, beside or on top of each other. Where there is one series only, each bar
// has the colour that a series of its name would have.
struct BarChart {
  enum class Layout { clustered, stacked };  // stacked: what is negative lies below the baseline

  std::string id;  // of the chart in its page, and stem of a picture of it: "fraction_of_ideal"
  std::string title;
  std::string value_axis;  // what the bars measure, with the unit
  Layout layout = Layout::clustered;
  std::vector<std::string> series = {};
  std::vector<Bar> bars = {};
  double baseline = 0.0;  // where bars grow from; the axis reaches it
  int decimals = 0;       // of the values as they are written
  std::vector<Level> levels = {};
  std::string caption = {};  // what a reader should know, below the chart; may be empty
};

struct Axis {
  std::string label;
  std::string unit = {};  // "us"; may be empty
  bool logarithmic = false;
  std::optional<double> low = {};  // where the axis ends; where absent, the data decide
  std::optional<double> high = {};
};

// Error bars reach from low to high; none where both are absent.
struct ScatterPoint {
  double x = 0.0;
  double y = 0.0;
  std::string label = {};  // shown where a reader points at it
  std::optional<double> x_low = {};
  std::optional<double> x_high = {};
  std::optional<double> y_low = {};
  std::optional<double> y_high = {};
  bool marked = false;  // ringed
};

struct ScatterSeries {
  std::string name;
  std::vector<ScatterPoint> points;
};

// A straight line on the drawn axes, from one point to another: the diagonal, or y = 0. On a logarithmic axis both
// points are above 0.
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
  bool joined = false;  // the points of a series by a line, in their order
  std::string caption = {};
  std::string legend = {};  // what the names of series are values of; may be empty
  std::string marks = {};   // what it means that a point is ringed; empty where none is
  bool is_panel = false;    // smaller, beside others of the same kind
};

// A claim: the band that a prediction is to lie in, low <= high, and what was published.
struct BandRow {
  std::string name;
  double low = 0.0;
  double high = 0.0;
  std::optional<Published> published = {};
  double predicted = 0.0;
  std::string unit = {};  // may be empty

  bool holds() const { return low <= predicted && predicted <= high; }
};

// Each row has a scale of its own, so that all bands are equally wide.
struct BandChart {
  std::string id;
  std::string title;
  std::vector<BandRow> rows = {};
  std::string caption = {};
};

// What ran when: rows from top to bottom, of each the bars that follow each other on it.
struct TimelineBar {
  double start = 0.0;
  double end = 0.0;
  std::size_t series = 0;
  std::string label = {};
  std::string detail = {};  // shown where a reader points at it; may be empty
};

struct TimelineRow {
  std::string name;
  std::vector<TimelineBar> bars = {};
};

// From 0 to the last end, in microseconds.
struct TimelineChart {
  std::string id;
  std::string title;
  std::vector<std::string> series = {};
  std::vector<TimelineRow> rows = {};
  std::string caption = {};
};

using Chart = std::variant<BarChart, ScatterChart, BandChart, TimelineChart>;

}  // namespace c3sim::study
