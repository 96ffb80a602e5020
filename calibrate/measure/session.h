// Carries a plan out: measures what the folder of a session's results has not yet, says what it leaves out, and stops
// where a GPU answers no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/plan.h"

namespace c3sim::measure {

// What is the same for all rows of a folder.
struct Circumstances {
  std::string environment;  // GPUs, driver, libraries
  std::string protocol;     // warm-ups, repetitions
  std::string occasion;     // date and command; may differ when a session goes on
};

using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// It holds a CSV for each kind of measurement and progress.csv, which says what is finished and how long each table was
// then. After a kill tables are cut back to that, so that no row is torn and none is measured twice.
class ResultFolder {
 public:
  // A new or empty folder, or one that was begun under the same circumstances; else UserError, and nothing is touched.
  ResultFolder(std::filesystem::path folder, Circumstances circumstances);

  bool has(const Item& item) const;
  // All rows of an item, on the disk when this returns.
  void add(const Item& item, const Rows& rows, int gpus);
  // It is not tried again in this folder. Any thread may say so.
  void give_up(const Item& item, std::string_view why);

 private:
  void go_on(const std::string& ledger);
  void note(const Item& item, std::string_view state, std::string_view why);
  std::filesystem::path table_of(std::string_view kind) const { return folder_ / (std::string(kind) + ".csv"); }

  std::filesystem::path folder_;
  Circumstances circumstances_;
  std::mutex mutex_;
  std::set<std::string> finished_;
  std::map<std::string, std::uintmax_t> sizes_;  // of tables, in bytes
  OpenFile ledger_;                              // held so that nobody else writes there
};

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

struct SessionEnd {
  std::size_t measured = 0;
  std::size_t already = 0;   // in the folder before
  std::size_t left_out = 0;  // unsupported here, or failed
  std::size_t left = 0;      // not begun
  // GPUs answer no more: nothing of them may be touched, not even to let go of it.
  bool broken = false;
};

// `time_limit`: in minutes; no item begins after that.
SessionEnd carry_out(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, std::optional<double> time_limit,
                     const Surroundings& surroundings);

// How far a session is: a bar that is drawn over and over on a terminal, a line now and then elsewhere.
class Progress {
 public:
  // `seconds`: what all that is to do may take, roughly.
  Progress(std::ostream& out, bool terminal, std::size_t items, double seconds);

  void begin(std::string_view kind, const std::string& item);
  void end(double seconds);  // that the item was thought to take
  // A line that stays.
  void say(const std::string& line);
  void close();

 private:
  void draw();
  double left() const;

  std::ostream& out_;
  bool terminal_;
  std::size_t items_;
  std::size_t done_ = 0;
  double planned_, planned_done_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string kind_, item_;
  bool drawn_ = false;
};

}  // namespace c3sim::measure
