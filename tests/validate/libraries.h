// Offers the library of the repository, and one whose suites, tables and files of the user a test writes.
#pragma once

#include <filesystem>
#include <string>

#include "study/play/platform_file.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "tests/folder.h"
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

// Returns a library with suites, reference data and deviations of a folder, and shipped platforms and experiments.
inline Library library_in(const Folder& folder) {
  Library library = shipped_library();
  library.suites = folder.path() / "suites";
  library.reference = folder.path() / "reference";
  library.deviations = folder.path() / "deviations.yaml";
  return library;
}

}  // namespace c3sim::validate
