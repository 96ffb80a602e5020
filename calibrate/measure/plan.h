// What is measured, as data: items in their order, what calibration needs first.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/kind.h"

namespace c3sim::measure {

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
