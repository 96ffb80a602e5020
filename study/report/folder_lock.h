// A folder of results belongs to one run at a time: a lock of the operating system, which goes with the process
// however that ends.
#pragma once

#include <filesystem>

namespace c3sim::study {

class FolderLock {
 public:
  static constexpr auto taken = "another run is at work in this folder: wait for its end, or take another folder";

  // The folder is this run's as long as the lock lives. Throws sim::ConfigError where another has it. A file system
  // without locks, and a folder that is not there, are used without.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Whether another run has it now.
  static bool is_taken(const std::filesystem::path& folder);

 private:
  int folder_;
};

}  // namespace c3sim::study
