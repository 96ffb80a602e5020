// Where c3sim is known to be wrong: numbered gaps with their cause and what would decide, and whether each is still
// there.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sim/config/choice.h"
#include "validate/claim.h"

namespace c3sim::validate {

// A gap is one of claims, or of a group of cases: there it is as long as the error named stays above the limit.
struct Deviation {
  enum class Error { median, worst };

  int number = 0;
  std::string title;
  std::string cause;
  std::string decides;  // what measurement would tell
  std::vector<std::string> claims;
  // How far each of the claims may lie beyond its band, in its own unit: further is a gap that has grown.
  std::vector<double> beyond;
  // Or a group of cases.
  std::string suite, group;
  std::vector<std::string> figures;  // none: all
  double least_size = 0.0;           // of the trial, in bytes; see size_of
  double greatest_size = 0.0;        // 0: any
  Error error = Error::median;
  double above = 0.0;

  bool is_about(const Case& one) const;
};

constexpr auto all_names(Deviation::Error) { return sim::names("median", "worst"); }

// Reads the list of deviations. Throws sim::ConfigError.
std::vector<Deviation> read_deviations(const std::filesystem::path& file);

// A deviation as it stands today.
struct Gap {
  Deviation deviation;
  bool tested = false;  // whether its claims or cases were among those compared
  bool open = false;    // whether it is still there
  bool grown = false;   // whether one of its claims lies further beyond its band than the deviation says
  std::string size;     // in words: "0.59, claimed 0.19 to 0.51", "median error 33 %, worst 48 %, of 12 cases"
};

std::vector<Gap> gaps_of(std::span<const Deviation> deviations, std::span<const Claim> claims,
                         std::span<const Case> cases);

}  // namespace c3sim::validate
