// What is measured, as data: kinds, each a table of its own with a row or a few for every item of the plan, and these
// items in their order, what calibration needs first.
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
  int count(std::string_view column) const { return static_cast<int>(number(column)); }
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
  using Measure = Rows(Lab&, const Arguments&);

  std::string name;     // of its table
  std::string about;    // one line for people
  std::string columns;  // with a comma between them
  std::string times;    // what is measured, for the head of the table
  Measure* measure;
};

// Those of kinds.txt.
std::span<const Kind> kinds();
// Or null.
const Kind* kind_of(std::string_view name);

// The columns NAME_us, NAME_p10_us, NAME_p90_us and n; of one of `count` in a run.
Row row_of(std::string_view name, const Summary& summary, double count = 1.0);
// These, by the host's clock, and event_us.
Row row_of(const Timing& timing, double count = 1.0, std::string_view name = "time");
// The columns of power and clock, and samples.
Row row_of(const BoardMean& mean, const std::string& power = "power_W", const std::string& clock = "clock_MHz");

Kind::Measure measure_launch, measure_gemm, measure_steady, measure_series;
Kind::Measure measure_copy, measure_copy_phases, measure_engine, measure_links, measure_link_power;
Kind::Measure measure_collective, measure_pair, measure_dependent, measure_stream, measure_load, measure_phase;
Kind::Measure measure_dispatch, measure_probe;

// What measure_dependent knows, by name, and whether the columns of a shape lie on so many GPUs in shards of equal
// pieces.
std::vector<std::string> dependent_schedules();
bool can_be_cut(GemmShape shape, int gpus);

struct Machine {
  int gpus = 1;
  int cus = 1;                          // of a GPU
  std::size_t memory = 0;               // of a GPU, in bytes
  std::size_t local_memory = 0;         // that a workgroup can have, in bytes
  std::vector<std::vector<int>> peers;  // by GPU: engines from GPU 0, the preferred one first; empty: not told
};

struct Wish {
  bool quick = false;
  std::vector<std::string> only;  // kinds; none named: all
  std::vector<GemmShape> shapes;  // instead of those of the plan
  std::vector<Arguments> pairs;   // instead of those of the plan
};

struct Item {
  const Kind* kind = nullptr;
  Arguments arguments;
  double seconds = 0.0;  // that it may take, roughly

  std::string name() const;  // "gemms gemm=8192x8192x8192 cus=64"
};

std::vector<Item> make_plan(const Wish& wish, const Machine& machine, const Protocol& protocol);

// The runs that a table called `name` with columns gemm, collective, bytes, strategy and, where it has them, channels,
// reserved_cus, variant and prelaunch asks for. UserError says which line is not one.
std::vector<Arguments> read_pairs(const std::string& text, const std::string& name, int gpus);

}  // namespace c3sim::measure
