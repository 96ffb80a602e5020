// The kinds of measurements: each is a table of its own, a row or a few for every item of the plan.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/measure/lab.h"

namespace c3sim::measure {

// What an item of the plan asks for, as columns of its table and their cells.
class Arguments {
 public:
  Arguments() = default;
  Arguments(std::initializer_list<std::pair<std::string, std::string>> cells) : cells_(cells) {}

  void add(std::string column, std::string cell) { cells_.emplace_back(std::move(column), std::move(cell)); }
  const std::vector<std::pair<std::string, std::string>>& cells() const { return cells_; }
  const std::string& text(std::string_view column) const;  // empty where it is not said
  std::int64_t number(std::string_view column) const;      // 0 where it is not said
  std::size_t bytes() const { return static_cast<std::size_t>(number("bytes")); }
  GemmShape shape() const;
  std::string spelled() const;  // "gemm=8192x8192x8192 cus=64": what tells one item from another

 private:
  std::vector<std::pair<std::string, std::string>> cells_;
};

// Cells by column; those that are not there are empty. Arguments are added by whoever writes the row.
using Row = std::map<std::string, std::string, std::less<>>;
using Rows = std::vector<Row>;

struct Kind {
  std::string_view name;     // of its table
  std::string_view about;    // one line for people
  std::string_view columns;  // with a comma between them
  std::string_view times;    // what is measured, for the head of the table
  Rows (*measure)(Lab&, const Arguments&);
};

std::span<const Kind> kinds();
// Or null.
const Kind* kind_of(std::string_view name);

// The columns time_us, time_p10_us, time_p90_us, event_us and n; of one of `count` in a run.
Row row_of(const Timing& timing, double count = 1.0);

Rows measure_launch(Lab& lab, const Arguments& arguments);
Rows measure_gemm(Lab& lab, const Arguments& arguments);
Rows measure_steady(Lab& lab, const Arguments& arguments);
Rows measure_series(Lab& lab, const Arguments& arguments);
Rows measure_duty_cycle(Lab& lab, const Arguments& arguments);
Rows measure_matrix_power(Lab& lab, const Arguments& arguments);
Rows measure_copy(Lab& lab, const Arguments& arguments);
Rows measure_copy_phases(Lab& lab, const Arguments& arguments);
Rows measure_engine(Lab& lab, const Arguments& arguments);
Rows measure_copies_in_a_row(Lab& lab, const Arguments& arguments);
Rows measure_fan_out(Lab& lab, const Arguments& arguments);
Rows measure_links(Lab& lab, const Arguments& arguments);
Rows measure_link_power(Lab& lab, const Arguments& arguments);
Rows measure_collective(Lab& lab, const Arguments& arguments);
Rows measure_pair(Lab& lab, const Arguments& arguments);
Rows measure_dependent(Lab& lab, const Arguments& arguments);
Rows measure_stream(Lab& lab, const Arguments& arguments);
Rows measure_load(Lab& lab, const Arguments& arguments);
Rows measure_phase(Lab& lab, const Arguments& arguments);
Rows measure_dispatch(Lab& lab, const Arguments& arguments);

// What measure_dependent knows, by name, and whether the columns of a shape lie on so many GPUs in shards of equal
// pieces.
std::vector<std::string> dependent_schedules();
bool can_be_cut(GemmShape shape, int gpus);

}  // namespace c3sim::measure
