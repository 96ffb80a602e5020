// c3sim-measure from its arguments to its exit code: carries a plan out, measures what the folder of a session's
// results has not yet, says what it leaves out, and stops where a GPU answers no more.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// A runtime that this build has, and its name for people. GpuError where its driver is missing.
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

// How far a session is: a bar that is drawn over and over on a terminal, a line now and then elsewhere.
class Progress {
 public:
  // `seconds`: what all that is to do may take, roughly.
  Progress(std::ostream& out, bool terminal, std::size_t items, double seconds)
      : out_(out), terminal_(terminal), items_(items), planned_(seconds) {}

  void begin(std::string_view kind, const std::string& item);
  void end(double seconds) {  // that the item was thought to take
    ++done_;
    planned_done_ += seconds;
  }
  // A line that stays.
  void say(const std::string& line) {
    close();
    out_ << line << '\n' << std::flush;
  }
  // Wipes the bar away.
  void close() {
    if (drawn_) out_ << "\r\033[K" << std::flush;
    drawn_ = false;
  }

 private:
  std::string left() const;

  std::ostream& out_;
  bool terminal_;
  std::size_t items_;
  std::size_t done_ = 0;
  double planned_, planned_done_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string kind_;
  bool drawn_ = false;
};

}  // namespace c3sim::measure
