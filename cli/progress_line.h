// Says that a long answer is under way: how far it is and how long it will take, where that is known, and for how long
// it has run. On a terminal that is one line; a file gets a line of its own now and then.
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

// On a terminal the line is drawn over itself, at every report and every second, and is gone after finish(): short
// answers show none but for their reports. Elsewhere the first line comes after ten seconds, and each further one ten
// seconds behind the last, or a tenth of the whole time, whichever is longer. Any thread may report.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool is_terminal);  // `out` outlives the line
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `done` of `of` parts of what is being done now; all of them end this part of the work.
  void report(std::size_t done, std::size_t of);
  // Writes lines of others, where the line does not stand in their way.
  void write(std::string_view lines);
  // Before anything else is written.
  void finish();

 private:
  void tick();
  void draw();
  void erase();
  void write_line();
  std::string time_left() const;  // ", 20 s left"; empty where nobody can tell

  std::ostream& out_;
  const bool is_terminal_;
  std::mutex mutex_;
  std::condition_variable finishing_;
  bool finished_ = false;
  bool drawn_ = false;
  std::size_t done_ = 0;
  std::size_t of_ = 0;          // 0: nobody has said
  std::size_t first_done_ = 0;  // at the first report of this part, and when that was
  int first_seconds_ = 0;
  int seconds_ = 0;
  int next_line_;       // of a file: when it is due
  std::thread ticker_;  // last: it uses all of the above
};

// Ctrl-C and requests to end, asked about instead of dying of them: what is under way can be finished and kept.

// From its construction SIGINT and SIGTERM wait, for this thread and those that it starts; afterwards they are
// forgotten, and as deadly as before.
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
