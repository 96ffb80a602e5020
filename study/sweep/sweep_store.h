// Where finished points are kept: one SQLite file in the result folder, written ahead (WAL), so that a run which is
// killed at any moment has lost nothing that was added. It knows columns and cells, and nothing of what they mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "study/report/result_table.h"
#include "study/report/results_folder.h"
#include "study/sweep/sweep_axis.h"

struct sqlite3;
struct sqlite3_stmt;

namespace c3sim::study {

// What a file of points is for: files of another study are refused.
struct StoreKey {
  std::string digest;           // of all that answers depend on
  std::string study;            // its name, for people
  std::vector<Column> columns;  // of every point, behind its index
};

class SweepStore {
 public:
  static constexpr auto file_name = points_file_name;

  // Opens the file in `folder`, which is made where it is missing; a nameless file that the system takes back where
  // `folder` is empty. Throws sim::ConfigError where the file is of another study, or none of ours, or another run is
  // at work in the folder, and std::system_error where the file system refuses.
  SweepStore(const std::filesystem::path& folder, const StoreKey& key);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  std::uint64_t size() const;      // points that are in it
  std::uint64_t failures() const;  // points that failed since it was opened, and are not in it
  // Of the folder; none where there is none.
  const FolderLock* lock() const { return lock_.get(); }
  // Adds answers in one transaction: all of them, or none. One that is there stays as it is. Points that failed are
  // remembered until the store is closed, so that who opens it next asks them again. Throws std::system_error.
  void add(std::span<const PointAnswer> answers);
  // The indices in the store from `first` on, ascending, at most `most` of them.
  std::vector<std::uint64_t> indices(std::uint64_t first, std::size_t most) const;
  // All points in the order of their indices, one at a time, with those that failed.
  void for_each(const std::function<void(const PointAnswer& answer)>& visit) const;

 private:
  class Statement;
  void open(const std::filesystem::path& folder);
  void check_key(const StoreKey& key);
  void make_tables(const StoreKey& key);
  void insert(Statement& insertion, const PointAnswer& answer) const;
  std::uint64_t count(const std::string& from) const;
  void execute(const std::string& sql) const;
  [[noreturn]] void fail(int result) const;

  std::string name_;  // of the file, for people
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::unique_ptr<Statement> insertion_;
  std::unique_ptr<Statement> failure_;
  std::size_t columns_ = 0;
};

}  // namespace c3sim::study
