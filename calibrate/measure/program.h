// Runs c3sim-measure from its arguments to its exit code: carries out a plan, measures what the results folder lacks,
// reports what it leaves out, and stops where a GPU no longer answers.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// A Backend is a runtime that this build has. `open` throws GpuError where the driver is missing.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<Runtime>(const std::vector<std::string>& folders)> open;
};

struct Surroundings {
  std::vector<Backend> backends;  // in the order in which they are tried
  std::ostream& out;              // results: lists and plans
  std::ostream& err;              // progress and errors
  bool terminal = false;          // whether `err` is a terminal
  double pace = 1.0;              // factor on rests, warm-ups and patience; less than 1 in tests
  // Prints the line and ends the program at once: to release GPUs that no longer answer would hang. Returns in tests.
  std::function<void(const std::string& line)> abandon;
};

// Returns the exit code: 0 if the session went to its end or time limit, though items may be left out; 1 if GPUs no
// longer answer or cannot be set up; 2 for what the user can fix.
int run_program(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace c3sim::measure
