// Carries a plan out: measures what a folder has not yet, says what it leaves out, and stops where a GPU answers no
// more.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/result_folder.h"

namespace c3sim::measure {

struct SessionOptions {
  std::optional<double> time_limit{};  // s; no item begins after that
  bool terminal = false;
  // What to do where a call never comes back; the program cannot go on, so that it does not return in main().
  std::function<void(const std::string& line)> abandon;
  double pace = 1.0;  // of the patience with calls
};

struct SessionEnd {
  std::size_t measured = 0;
  std::size_t already = 0;   // in the folder before
  std::size_t left_out = 0;  // unsupported here, or failed
  std::size_t left = 0;      // not begun
  // GPUs answer no more: nothing of them may be touched, not even to let go of it.
  bool broken = false;
};

SessionEnd carry_out(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, const SessionOptions& options,
                     std::ostream& out);

}  // namespace c3sim::measure
