// Describes as data what is measured: kinds, each with a table of its own (measures.cpp), and the items of the plan,
// each of which gives a row or a few (plan.cpp); what calibration needs first comes first.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/measure/lab.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

// Arguments are what an item of the plan asks for: columns of its table and their cells.
struct Arguments {
  std::vector<std::pair<std::string, std::string>> cells;

  const std::string& text(std::string_view column) const;  // empty if the column is missing
  std::int64_t number(std::string_view column) const;      // 0 if the column is missing
  int count(std::string_view column) const { return static_cast<int>(number(column)); }
  std::size_t bytes() const { return static_cast<std::size_t>(number("bytes")); }
  GemmShape shape() const { return parse_shape(text("gemm")); }
  std::string spelled() const;  // "gemm=8192x8192x8192 cus=64", which identifies an item
};

// A Row has cells by column; missing ones are empty. Whoever writes the row adds the arguments.
using Row = std::map<std::string, std::string, std::less<>>;
using Rows = std::vector<Row>;

struct Kind {
  using Measure = Rows(Lab&, const Arguments&);

  std::string name;     // name of its table
  std::string about;    // one line for people
  std::string columns;  // separated by commas
  std::string times;    // what its times are, for the head of its table
  Measure* measure;
};

// Returns the kinds of kinds.txt.
std::span<const Kind> kinds();
// Returns the kind of that name, or null.
const Kind* kind_of(std::string_view name);

// dependent_schedules() returns the names of the schedules that can be measured. can_be_cut() returns whether the
// columns of a shape lie on this number of GPUs in shards of equal pieces.
std::vector<std::string> dependent_schedules();
bool can_be_cut(GemmShape shape, int gpus);

struct Machine {
  int gpus = 1;
  Device device;                        // what every GPU is
  std::vector<std::vector<int>> peers;  // by GPU: copy engines from GPU 0, preferred one first; empty: unknown
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
  double seconds = 0.0;  // estimated duration

  std::string name() const;  // "gemms gemm=8192x8192x8192 cus=64"
};

std::vector<Item> make_plan(const Wish& wish, const Machine& machine, const Protocol& protocol);

// Returns the runs of a table, called `name` in messages, with columns gemm, collective, bytes, strategy and,
// optionally, channels, reserved_cus, variant and prelaunch. Throws UserError that says which line is no run.
std::vector<Arguments> read_pairs(const std::string& text, const std::string& name, int gpus);

}  // namespace c3sim::measure
