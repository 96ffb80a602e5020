// What the points of a sweep differ in: a list of values, or an interval that they are drawn from. What is asked of a
// point is answered with named quantities. What values and quantities mean, the machinery of sweeps does not know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/config/config_text.h"
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

// A number with its unit as a person wrote it: "48 GB/s" is 48 of "GB/s".
struct WrittenNumber {
  double number = 0.0;
  std::string unit;   // empty of plain numbers
  double base = 0.0;  // in base units
  sim::Dimension dimension = sim::Dimension::number;
  bool is_whole = false;  // a plain number of digits alone

  double unit_worth() const;  // in base units
};
// Nothing where the text is no number with one of the units that sim::parse_quantity reads.
std::optional<WrittenNumber> read_number(std::string_view text);
// So many times a number, in its unit, as files have it; nothing where the text is none.
std::optional<std::string> scaled_text(std::string_view text, double factor);

// Whether the scale under a key, which is linear unless it is told, is logarithmic.
bool is_logarithmic(sim::Section& section, std::string_view key);

// Values from one end to the other, both included.
struct AxisRange {
  WrittenNumber low;
  WrittenNumber high;
  bool logarithmic = false;

  // The value at `u` of the way, 0 <= u < 1, in the unit of the lower end, to six digits; a whole number where both
  // ends are, or a whole number of bytes.
  std::string at(double u) const;
  // A number of base units, in the unit of the lower end and to six digits.
  std::string text_of(double base) const;
};

struct SweepAxis {
  std::string name;               // "gpu.sdma.engines"; of an axis with cases or of several parameters, any
  std::vector<AxisValue> values;  // empty: drawn from the interval
  std::optional<AxisRange> interval;
  std::optional<sim::Dimension> dimension;  // of all its values, where all are numbers

  AxisValue at(double u) const;  // 0 <= u < 1
  // The place of the value with this label; as many as there are values where none has it.
  std::size_t place_of(const std::string& label) const {
    return static_cast<std::size_t>(std::ranges::find(values, label, &AxisValue::label) - values.begin());
  }
  bool varies() const { return values.size() != 1; }
  // Every value that it has, or both ends of the interval: what is worth checking before points are asked.
  std::vector<AxisValue> extremes() const;

  // How tables show its values: as numbers of one unit where all are numbers of one dimension ("bytes" [B],
  // "fabric.link_rate" [GB/s]), else as text.
  Column column() const;
  Cell cell(const AxisValue& value) const;
  // Whether its values are factors on what the platform has today, and what names and sentences then call the value of
  // a label: "0.5 x today".
  bool scales() const;
  std::string told(const std::string& label) const { return scales() ? label + " x today" : label; }
};

// Reads one entry of `axes`:
//   {of: gpu.sdma.engines, values: [4, 8, 16]}               these; `value: 4` is a list of one
//   {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, step: 16 GB/s}
//   {of: bytes, from: 1MiB, to: 1GiB, times: 2}              multiplied from one to the next
//   {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s, steps: 9}   so many, both ends included
//   {of: gpu.sdma.payload_rate, from: 48 GB/s, to: 128 GB/s, scale: log}   drawn from, where points are sampled
//   {of: gpu.sdma.payload_rate, times: [1, 0.75, 0.5]}       factors on what each platform has today
//   {name: latency_share, of: [host.doorbell, host.word_check], times: [1, 0.5, 0]}    of several at once
//   {name: commands, cases: [{name: today}, {name: batched, set: ["gpu.sdma.batched_doorbell=true"]},
//                            {name: slow, set: ["host.doorbell *= 2"]}]}     twice what it is today
// What is wrong is recorded with the section.
SweepAxis read_axis(sim::Section section);

// Which points a study has. The values of a point depend on its index alone, so that any worker can make any point and
// nobody keeps a list.

// grid: every combination, the last axis fastest. The others draw from the unit cube, an axis a dimension, and give
// listed values equal parts of it: `random` independently; `latin_hypercube` so that each of n equal slices of every
// axis holds one of n points (McKay, Beckman and Conover 1979); `sobol` as Sobol's sequence (direction numbers of Joe
// and Kuo, by Boost.Random), whose points fill the cube evenly.
enum class Method { grid, random, latin_hypercube, sobol };
constexpr auto all_names(Method) { return sim::names("grid", "random", "latin_hypercube", "sobol"); }

struct PointSampling {
  Method method = Method::grid;
  std::uint64_t points = 0;  // that are drawn; of no meaning for a grid
  std::uint64_t seed = 1;
};

// Reads `sampling: {method: sobol, points: 4096, seed: 7}`.
PointSampling read_sampling(sim::Section section);

class PointSequence {
 public:
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();

  PointSequence(std::vector<SweepAxis> axes, PointSampling sampling) : axes_(std::move(axes)), sampling_(sampling) {}

  const std::vector<SweepAxis>& axes() const { return axes_; }
  bool is_drawn() const { return sampling_.method != Method::grid; }
  std::uint64_t size() const;              // too_many where the count overflows
  Point point(std::uint64_t index) const;  // index < size()

 private:
  Point on_grid(std::uint64_t index) const;
  std::vector<double> in_cube(std::uint64_t index) const;

  std::vector<SweepAxis> axes_;
  PointSampling sampling_;
};

}  // namespace c3sim::study
