// Runs c3sim-measure from its arguments to its exit code: carries out a plan, measures what the results folder lacks,
// reports what it leaves out, and stops where a GPU no longer answers.
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

// Progress shows how far a session is: a bar that is redrawn on a terminal, a line now and then elsewhere.
class Progress {
 public:
  // `seconds` is the estimated duration of all items.
  Progress(std::ostream& out, bool terminal, std::size_t items, double seconds)
      : out_(out), terminal_(terminal), items_(items), planned_(seconds) {}

  void begin(std::string_view kind, const std::string& item);
  void end(double seconds) {  // the estimate of the item
    ++done_;
    planned_done_ += seconds;
  }
  // Prints a line that stays, in place of the bar.
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
