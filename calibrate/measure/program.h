// c3sim-measure from its arguments to its exit code.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/session.h"

namespace c3sim::measure {

// 0: all was measured but for what this machine lacks; 1: GPUs answer no more, or something failed; 2: the user can
// mend it.
int run_program(int argc, const char* const* argv, const Surroundings& surroundings);

// The command line.
struct Options {
  bool list = false;
  bool dry_run = false;
  Wish wish;
  std::filesystem::path out;
  std::filesystem::path pairs;  // a file of them; empty: none
  int gpus = 0;                 // 0: all
  Protocol protocol;
  std::optional<double> time_limit{};  // s
  std::string backend = "auto";
  std::vector<std::string> library_folders;
  std::string command;  // as it was typed
};

// Fills in the options, or says what to print instead of going on: the help. UserError says what is wrong.
std::optional<std::string> read_options(int argc, const char* const* argv, const std::vector<std::string>& backends,
                                        Options& options);

}  // namespace c3sim::measure
