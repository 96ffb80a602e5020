// Keeps finished points in one SQLite file in the result folder. Write-ahead logging (WAL) makes sure that a run killed
// at any moment loses no point that was added. The store knows columns and cells, but not what they mean.
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

namespace c3sim::study {

// Identifies the study of a file of points. Files of other studies are refused.
struct StoreKey {
  std::string digest;           // of everything that answers depend on
  std::string study;            // the study's name, for people
  std::vector<Column> columns;  // of every point, after its index
};

class SweepStore {
 public:
  static constexpr auto file_name = points_file_name;

  // Opens the file in `folder`, which is created if it is missing; an empty `folder` means a temporary file that is
  // deleted when closed. Throws sim::ConfigError where the file belongs to another study or another program, or another
  // run uses the folder, and std::system_error where the file system refuses.
  SweepStore(const std::filesystem::path& folder, const StoreKey& key);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  std::uint64_t size() const;  // number of points with an answer
  // Returns the lock on the folder, or a null pointer where there is no folder.
  const FolderLock* lock() const { return lock_.get(); }
  // Adds all answers in one transaction, or none. A point that the store has stays as it is. Throws std::system_error.
  void add(std::span<const PointAnswer> answers);
  // Returns up to `most` indices in the store, ascending, from `first` on.
  std::vector<std::uint64_t> indices(std::uint64_t first, std::size_t most) const;
  // Visits all points in the order of their indices.
  void for_each(const std::function<void(const PointAnswer& answer)>& visit) const;

 private:
  class Statement;
  void open(const std::filesystem::path& folder);
  void check_key(const StoreKey& key);
  void make_tables(const StoreKey& key);
  void execute(const std::string& sql) const;
  [[noreturn]] void fail(int result) const;

  std::string name_;  // the file's name, for people
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::unique_ptr<Statement> insertion_;
  std::size_t columns_ = 0;
};

}  // namespace c3sim::study
