// Shows on a terminal how far a long command is, and lets a command handle Ctrl-C by itself.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <ostream>
#include <string_view>

namespace c3sim::cli {

// A ProgressLine is redrawn at every report, with the time that is left, if that can be estimated. Any thread may
// report.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& terminal) : terminal_(terminal) {}  // must outlive the line
  ~ProgressLine() { write({}); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Reports that `done` of `of` parts of the current step are done. The step ends when `done` reaches `of`.
  void report(std::size_t done, std::size_t of);
  // Erases the progress line and writes the given lines.
  void write(std::string_view lines);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& terminal_;
  std::mutex mutex_;
  bool drawn_ = false;
  // `first_done_` is what was done at the first report of this step, at `began_`.
  std::size_t first_done_ = 0;
  Clock::time_point began_{};
};

// Interruption lets a command handle Ctrl-C and requests to end by itself, so that it can finish and keep its work.

// From construction on, SIGINT and SIGTERM stay pending for this thread and for the threads that it starts. The
// destructor discards pending signals and restores the former signal mask.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool asked() const;

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace c3sim::cli
