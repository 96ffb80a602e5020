// The library of the repository, and one whose suites, tables and files of the user a test writes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "study/run/platform_file.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "validate/validation.h"

namespace c3sim::validate {

inline study::Platform shipped_platform(const Machine& machine) {
  std::vector<std::string> assignments = machine.assignments;
  assignments.insert(assignments.end(), machine.changes.begin(), machine.changes.end());
  return study::read_platform(study::find_platform(machine.platform, "--platform", folders), assignments, folders);
}

inline Library shipped_library() {
  const std::filesystem::path source = C3SIM_SOURCE_DIR;
  return {.reference = source / "validate/reference",
          .suites = source / "validate/suites",
          .claims = source / "validate/claims.yaml",
          .deviations = source / "validate/deviations.yaml",
          .formats = source / "configs/formats",
          .experiments = source / "configs/experiments",
          .platforms = shipped_platform,
          .platform_names = {"h200", "mi300x", "mi300x_conccl"}};
}

// A folder of a test's own, which goes with it.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  // Suites, reference data and deviations of this folder; platforms and experiments of the repository.
  Library library() const {
    Library library = shipped_library();
    library.suites = path_ / "suites";
    library.reference = path_ / "reference";
    library.deviations = path_ / "deviations.yaml";
    return library;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace c3sim::validate
