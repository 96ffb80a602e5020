// Where what validations are made of is found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "validate/evaluation.h"

namespace c3sim::validate {

struct Library {
  std::filesystem::path reference;    // tables of measurements, and claims.csv
  std::filesystem::path suites;       // one file each
  std::filesystem::path claims;       // what claims are predicted by
  std::filesystem::path deviations;   // the list of known gaps
  std::filesystem::path formats;      // of tables, one file each
  std::filesystem::path experiments;  // of claims
  Platforms platforms;
  std::vector<std::string> platform_names{};  // of all there are: a file is compared with that of the GPU it names
};

}  // namespace c3sim::validate
