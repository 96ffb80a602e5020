// c3sim-measure from its arguments to its exit code.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// A runtime that this build has, by its name in --backend. GpuError where its driver is missing.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<Runtime>(const std::vector<std::string>& folders)> open;
};

struct Surroundings {
  std::vector<Backend> backends;  // in the order in which they are tried
  std::ostream& out;              // results: lists and plans
  std::ostream& err;              // progress and errors
  bool terminal = false;          // err is one
  double pace = 1.0;              // of rests, warm-ups and patience: tests are in a hurry
  // Says it and ends the program at once: GPUs answer no more, and to let go of them would hang. Returns in tests.
  std::function<void(const std::string& line)> abandon;
};

// 0: all was measured but for what this machine lacks; 1: GPUs answer no more, or something failed; 2: the user can
// mend it.
int run_program(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace c3sim::measure
