// Command lines of c3sim, answered within the test.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace c3sim::cli {

struct Answer {
  ExitCode code = ExitCode::fine;
  std::string out;
  std::string err;
};

inline Answer run_cli(std::vector<std::string> arguments, bool err_is_terminal = false) {
  std::vector<const char*> argv{"c3sim"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(static_cast<int>(argv.size()), argv.data(), out, err, err_is_terminal);
  return {code, out.str(), err.str()};
}

// The arguments, and more behind them.
inline std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace c3sim::cli
