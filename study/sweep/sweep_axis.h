// A sweep's points differ in the values of axes: lists of values, or intervals that values are drawn from. This file
// reads axes and enumerates points; what values and quantities mean is up to the question.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/config/config_text.h"
#include "study/report/result_table.h"

namespace c3sim::study {

// Sets one parameter or word: "gpu.sdma.engines" = "32", "bytes" = "896MiB".
struct Assignment {
  std::string name;
  std::string value;
  bool scales = false;  // `value` is a factor on what the platform has today

  bool operator==(const Assignment&) const = default;
};

// An AxisValue is a value of an axis under the label that tables show. It may make several assignments, or none.
struct AxisValue {
  std::string label;
  std::vector<Assignment> assignments;
  // More columns of the table of points, by key: what a case is known for and no question asks, such as a class.
  std::vector<std::pair<std::string, std::string>> labels{};

  bool operator==(const AxisValue&) const = default;
};

struct Point {
  std::uint64_t index = 0;
  std::vector<AxisValue> values;  // by axis
};

// The answer to a point. `cells` are those of all columns, or those of the axes alone where there is a fault. A machine
// that cannot do what is asked is an answer with a fault.
struct PointAnswer {
  std::uint64_t index = 0;
  std::vector<Cell> cells;
  std::string fault;  // empty where the point has an answer
};

// A number with its unit as a person wrote it: "48 GB/s" is the number 48 with the unit "GB/s".
struct WrittenNumber {
  double number = 0.0;
  std::string unit;   // empty for plain numbers
  double base = 0.0;  // in base units
  sim::Dimension dimension = sim::Dimension::number;
  bool is_whole = false;  // whether it is a plain number of digits only

  double unit_worth() const;  // how many base units the unit is
};
// Returns none where the text is no number with a unit that sim::parse_quantity reads.
std::optional<WrittenNumber> read_number(std::string_view text);
// Returns the number in `text` times `factor`, in its unit, as files have it; none where the text is no number.
std::optional<std::string> scaled_text(std::string_view text, double factor);

// Reads the scale under a key: returns whether it is logarithmic; it is linear where the key is absent.
bool is_logarithmic(sim::Section& section, std::string_view key);

// A range of values that includes both ends.
struct AxisRange {
  WrittenNumber low;
  WrittenNumber high;
  bool logarithmic = false;

  // Returns the value at the fraction `u`, 0 <= u < 1, of the range: in the unit of the lower end, to six digits. It is
  // a whole number where both ends are whole, and a whole number of bytes for sizes.
  std::string at(double u) const;
  // Returns a number of base units in the unit of the lower end, to six digits.
  std::string text_of(double base) const;
};

struct SweepAxis {
  std::string name;               // "gpu.sdma.engines"; an axis with cases or several parameters has a name of its own
  std::vector<AxisValue> values;  // empty: values are drawn from the interval
  std::optional<AxisRange> interval;
  std::optional<sim::Dimension> dimension;  // of all values, where all are numbers of one dimension
  std::vector<Column> label_columns{};      // one for each key of the cases' labels

  AxisValue at(double u) const;  // 0 <= u < 1
  // Returns the index of the value with this label, or the number of values where none has it.
  std::size_t place_of(const std::string& label) const {
    return static_cast<std::size_t>(std::ranges::find(values, label, &AxisValue::label) - values.begin());
  }
  bool varies() const { return values.size() != 1; }
  // Returns all listed values, or both ends of the interval, for checks before points are asked.
  std::vector<AxisValue> extremes() const;

  // `column` and `cell` show values as numbers in one unit where all are numbers of one dimension ("bytes" [B],
  // "fabric.link_rate" [GB/s]), else as text.
  Column column() const;
  Cell cell(const AxisValue& value) const;
  std::vector<Cell> label_cells(const AxisValue& value) const;
  // `scales` returns whether values are factors on what the platform has today. `told` is the name of a value in texts:
  // "0.5 x today".
  bool scales() const;
  std::string told(const std::string& label) const { return scales() ? label + " x today" : label; }
};

// Reads one entry of `axes`:
//   {of: gpu.sdma.engines, values: [4, 8, 16]}               a list; `value: 4` is a list of one
//   {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, step: 16 GB/s}
//   {of: bytes, from: 1MiB, to: 1GiB, times: 2}              each value twice the one before it
//   {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, steps: 9}   nine values with both ends
//   {of: gpu.sdma.payload_rate, from: 48 GB/s, to: 128 GB/s, scale: log}   an interval to draw from
//   {of: gpu.sdma.payload_rate, times: [1, 0.75, 0.5]}       factors on what each platform has today
//   {name: latency_share, of: [host.doorbell, host.word_check], times: [1, 0.5, 0]}    factors on several parameters
//   {name: commands, cases: [{name: today}, {name: batched, set: ["gpu.sdma.batched_doorbell=true"]},
//                            {name: slow, set: ["host.doorbell *= 2"]}]}     twice the value of today
//   {name: pair, cases: [{name: small, set: [bytes=1MiB], labels: {class: long}}]}    with a column `class`
// Faults are recorded with the section.
SweepAxis read_axis(sim::Section section);

// PointSequence enumerates the points of a study. A point depends on its index alone, so that any worker can make
// any point and no list of points is kept.

// `grid` makes every combination; the last axis varies fastest. `sobol` draws from the unit cube, one dimension per
// axis, by Sobol's sequence (direction numbers of Joe and Kuo, by Boost.Random), whose points fill the cube evenly, and
// gives listed values equal parts of it.
enum class Method { grid, sobol };
constexpr auto all_names(Method) { return sim::names("grid", "sobol"); }

// Reads `sampling: {method: sobol, points: 4096}`. Returns the number of points that are drawn, or none for a grid.
std::optional<std::uint64_t> read_sampling(sim::Section section);

class PointSequence {
 public:
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();

  // `drawn` is the number of points that are drawn; none: a grid.
  PointSequence(std::vector<SweepAxis> axes, std::optional<std::uint64_t> drawn)
      : axes_(std::move(axes)), drawn_(drawn) {}

  const std::vector<SweepAxis>& axes() const { return axes_; }
  bool is_drawn() const { return drawn_.has_value(); }
  std::uint64_t size() const;              // too_many where the count overflows
  Point point(std::uint64_t index) const;  // index < size()

 private:
  std::vector<SweepAxis> axes_;
  std::optional<std::uint64_t> drawn_;
};

}  // namespace c3sim::study
