// Reads the file of a sweep: the axes that points differ in, the question asked of each, and the goals of the study.
//
//   name: sdma_engines
//   about: How many SDMA engines are worth having?
//   platform: mi300x
//   ask: collective                        # c3, gemm, collective, copy, kernel, step, serve; or run, see below
//   axes:
//     - {of: gpu.sdma.engines, values: [4, 6, 9, 16, 32, 64]}
//     - {of: collective, value: all_gather}
//     - {of: backend, value: sdma}
//     - {of: bytes, from: 64KiB, to: 1GiB, times: 16}
//   cases: [collective, bytes]             # objectives compare points of the same case alone
//   constraints: [{of: time_us, at_most: 20 ms}]
//   objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
//   charts: [{x: gpu.sdma.engines, y: time_us}]
//   columns: [time_us, busbw_GBps]         # quantities in tables, in this order; all if it is left out
//   uncertainty: 100                       # draws for the intervals of quantities in goals and charts
//   summaries: ...                         # tables computed from that of the points: study/report/table_summary.h
//
// A study that asks `run` names the file of its experiment under `experiment`.
// `of` names a word of the question, a parameter of the platform by its path, or `platform` itself. Axes of the
// platform are sorted first, so that neighbouring points share a machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/play/platform_file.h"
#include "study/report/table_summary.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

// `of` is the column key of a quantity or an axis; bounds are in the unit of that column.
struct Constraint {
  std::string of;
  std::optional<double> at_least{};
  std::optional<double> at_most{};
};
struct Objective {
  std::string of;
  bool minimize = true;
};
struct ChartAxes {
  std::string x, y;
  bool logarithmic_x = false;
  bool logarithmic_y = false;
  // The chart shows only points that have these values: labels by column key of the axis. Empty: it shows all points.
  std::map<std::string, std::string> only{};
};

struct SweepStudy {
  std::string name;
  std::string about;
  PointSequence points;
  PointQuestion question;
  std::vector<Column> quantities;  // of every answer; those that tables show come first
  std::vector<std::size_t> cases;  // indices of axes: objectives compare points with equal values on them
  std::vector<Constraint> constraints;
  std::vector<Objective> objectives;
  std::vector<ChartAxes> charts;
  std::vector<TableSummary> summaries{};
  std::optional<Sampling> uncertainty{};  // how the machines for intervals are drawn

  // Bounds names the quantity columns that enclose a quantity with 90 % probability.
  struct Bounds {
    std::string of, low, high;  // column keys
  };
  std::vector<Bounds> bounds{};
  const Bounds* bounds_of(const std::string& quantity) const;

  bool is_summarized = false;  // axes of one value are columns, too, which summaries may name
  bool is_column(const SweepAxis& axis) const { return axis.varies() || is_summarized; }

  // Return the columns of varying axes and of their labels, followed by those of quantities, and a point's cells in the
  // axis columns.
  std::vector<Column> columns() const;
  std::vector<Cell> axis_cells(const Point& point) const;
  // A Case is the indices of a point's values on the axes that are cases; its name is such as "all_gather, 16MiB".
  using Case = std::vector<std::size_t>;
  Case case_of(const Point& point) const;
  std::string name_of(const Case& which) const;
  // Returns whether an axis, by its index, is something to choose: it varies and is no case.
  bool is_choice(std::size_t axis) const;
  // Returns whether a point has the first value of every choice, with which other points are compared.
  bool is_first_choice(const Point& point) const;
};

// Reads a study and records faults with the section. Tries values of every axis by themselves on the machine. More than
// `most_points` are a fault. The caller has read `platform` and finishes the configuration.
SweepStudy read_sweep_study(sim::Section root, Platforms& platforms, std::optional<sim::Config> experiment,
                            std::uint64_t most_points);

// Returns whether a point's machine differs from the platform of the study.
bool changes_machine(const Point& point);

// Returns the answer to one point on one of the caller's machines. Throws sim::ConfigError where a file that machines
// are made of cannot be read any more.
PointAnswer answer_point(const SweepStudy& study, MachineCache& machines, std::uint64_t index);

}  // namespace c3sim::study
