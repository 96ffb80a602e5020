// Carries a plan out: measures what a folder has not yet, says what it leaves out, and stops where a GPU answers no
// more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/result_folder.h"

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

struct SessionEnd {
  std::size_t measured = 0;
  std::size_t already = 0;   // in the folder before
  std::size_t left_out = 0;  // unsupported here, or failed
  std::size_t left = 0;      // not begun
  // GPUs answer no more: nothing of them may be touched, not even to let go of it.
  bool broken = false;
};

// `time_limit`: in s; no item begins after that.
SessionEnd carry_out(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, std::optional<double> time_limit,
                     const Surroundings& surroundings);

}  // namespace c3sim::measure
