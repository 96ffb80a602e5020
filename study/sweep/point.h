// A point of a sweep is values; what is asked of it is answered with named quantities. What these mean, the machinery
// of sweeps does not know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/report/result_table.h"

namespace c3sim::study {

// One value of one thing that can be chosen: "gpu.sdma.engines" = "32", "bytes" = "896MiB".
struct Assignment {
  std::string name;
  std::string value;
  bool scales = false;  // `value` is a factor on what the platform has today

  bool operator==(const Assignment&) const = default;
};

// A value of an axis, by the name that tables have for it. It may assign several things, or nothing.
struct AxisValue {
  std::string label;
  std::vector<Assignment> assignments;

  bool operator==(const AxisValue&) const = default;
};

struct Point {
  std::uint64_t index = 0;
  std::vector<AxisValue> values;  // by axis
};

// The answer to a point: the cells of the study's columns, or those of the axes alone and why there is no answer. That
// its machine cannot do what is asked is an answer, too; but where something else was in the way, such as a file that
// could not be read, the point has failed, and the same question may have an answer later.
struct PointAnswer {
  std::uint64_t index = 0;
  std::vector<Cell> cells;
  std::string fault;  // empty where the point has an answer
  bool failed = false;
};

}  // namespace c3sim::study
