// The folder of a session's results: a CSV for each kind of measurement and progress.csv, which says what is finished
// and how long each table was then. After a kill tables are cut back to that, so that no row is torn and none is
// measured twice.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "calibrate/measure/plan.h"

namespace c3sim::measure {

// What is the same for all rows of a folder.
struct Circumstances {
  std::string environment;  // GPUs, driver, libraries
  std::string protocol;     // warm-ups, repetitions
  std::string occasion;     // date and command; may differ when a session goes on
};

using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

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

}  // namespace c3sim::measure
