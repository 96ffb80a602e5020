// The command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/plan.h"

namespace c3sim::measure {

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

  // What is to be printed instead, with the program's exit code; empty: go on.
  struct Answer {
    std::string text;
    int code = 0;
  };
};

// Fills in the options, or says what to print instead of going on: the help, or what is wrong.
std::optional<Options::Answer> read_options(int argc, const char* const* argv, const std::vector<std::string>& backends,
                                            Options& options);

}  // namespace c3sim::measure
