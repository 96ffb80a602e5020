// Shows that a long command is running: its progress and the remaining time, if they are known, and its elapsed time. A
// terminal shows one line that changes; a file gets a new line now and then.
#pragma once

#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

namespace c3sim::cli {

// A ProgressLine on a terminal is redrawn at every report and every second, and finish() erases it. A command that ends
// within two seconds shows only its reports. Elsewhere the first line is written after ten seconds, and each further
// one after another ten seconds or a tenth of the elapsed time, whichever is longer. Any thread may report.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool is_terminal);  // `out` must outlive the line
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Reports that `done` of `of` parts of the current step are done. The step ends when `done` reaches `of`.
  void report(std::size_t done, std::size_t of);
  // Erases the progress line and writes the given lines.
  void write(std::string_view lines);
  // Ends the display. It must be called before anything else writes to the stream.
  void finish();

 private:
  void tick();
  void draw();
  void erase();
  void write_line();
  std::string time_left() const;  // ", 20 s left"; empty if it cannot be estimated

  std::ostream& out_;
  const bool is_terminal_;
  std::mutex mutex_;
  std::condition_variable finishing_;
  bool finished_ = false;
  bool drawn_ = false;
  std::size_t done_ = 0;
  std::size_t of_ = 0;          // 0: no report yet
  std::size_t first_done_ = 0;  // `done` and the seconds at the first report of this step
  int first_seconds_ = 0;
  int last_seconds_ = 0;  // at the last report
  int seconds_ = 0;
  int next_line_;       // second in which the next line of a file is due
  std::thread ticker_;  // the last member, since it uses all of the above
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
