// A study of many points: what they differ in, what is asked of each, and what is looked for among the answers.
//
//   name: sdma_engines
//   about: How many SDMA engines are worth having?
//   platform: mi300x
//   ask: collective                        # c3, gemm, collective, copy, serve; run: with `experiment: FILE`
//   axes:
//     - {of: gpu.sdma.engines, values: [4, 6, 9, 16, 32, 64]}
//     - {of: collective, value: all_gather}
//     - {of: backend, value: sdma}
//     - {of: bytes, from: 64KiB, to: 1GiB, times: 16}
//   cases: [collective, bytes]             # objectives compare points of the same case alone
//   constraints: [{of: time_us, at_most: 20 ms}]
//   objectives: [{minimize: time_us}, {minimize: gpu.sdma.engines}]
//   charts: [{x: gpu.sdma.engines, y: time_us}]
//   columns: [time_us, busbw_GBps]         # that tables show, in this order; of all quantities if it is left out
//   uncertainty: 100                       # draws, for the intervals of what goals and charts are about
//
// An axis is of a word of the question, of a parameter of the platform by its path, or of `platform` itself. Axes of
// the platform come first, so that neighbouring points share a machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/play/platform_file.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

// Of a quantity or an axis by the key of its column, in the unit of that.
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
  // The points that it shows: those that have of an axis, by its key, the value of such a label. None: all.
  std::map<std::string, std::string> only{};
};

struct SweepStudy {
  std::string name;
  std::string about;
  PointSequence points;
  PointQuestion question;
  std::vector<Column> quantities;  // of every answer; those that tables show first
  std::vector<std::size_t> cases;  // places of axes: objectives compare points that share their values on these
  std::vector<Constraint> constraints;
  std::vector<Objective> objectives;
  std::vector<ChartAxes> charts;
  std::optional<Sampling> uncertainty{};  // how machines are drawn that intervals are over

  // The columns, among the quantities, of where a quantity lies with 90 % probability.
  struct Bounds {
    std::string of, low, high;  // their keys
  };
  std::vector<Bounds> bounds{};
  const Bounds* bounds_of(const std::string& quantity) const;

  // The columns of axes that vary, then those of quantities, and the cells of a point in the former.
  std::vector<Column> columns() const;
  std::vector<Cell> axis_cells(const Point& point) const;
  // What a point is a case of, as places among the values of the axes that are cases; and its name: "all_gather,
  // 16MiB".
  using Case = std::vector<std::size_t>;
  Case case_of(const Point& point) const;
  std::string name_of(const Case& which) const;
  // Whether an axis, by its place, is something to choose: it varies and is no case.
  bool is_choice(std::size_t axis) const;
  // Whether a point has the first value of each of these: what others are compared with.
  bool is_first_choice(const Point& point) const;
};

// Reads a study for this machine; what is wrong is recorded with the section. Every value of every axis is tried, by
// itself, on the machine. The caller has read `platform` and finishes the configuration.
struct StudyLimits {
  std::uint64_t most_points = 100'000;  // refused beyond
};
SweepStudy read_sweep_study(sim::Section root, Platforms& platforms, std::optional<sim::Config> experiment,
                            const StudyLimits& limits);

// The answer to one point on one of the caller's machines.
PointAnswer answer_point(const SweepStudy& study, MachineCache& machines, std::uint64_t index);

}  // namespace c3sim::study
