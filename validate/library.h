// Where what validations are made of is found.
#pragma once

#include <filesystem>

#include "validate/evaluation.h"

namespace c3sim::validate {

struct Library {
  std::filesystem::path reference;    // tables of measurements, and claims.csv
  std::filesystem::path suites;       // one file each
  std::filesystem::path deviations;   // the list of known gaps
  std::filesystem::path formats;      // of tables, one file each
  std::filesystem::path experiments;  // of claims
  Platforms platforms;
};

}  // namespace c3sim::validate
