// Answers command lines of c3sim within the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "tests/folder.h"

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

// Returns the arguments followed by `more`.
inline std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Returns what a command line without faults says on stdout.
inline std::string out_of(const std::vector<std::string>& arguments) {
  Answer answer = run_cli(arguments);
  EXPECT_EQ(answer.code, ExitCode::fine) << testing::PrintToString(arguments) << answer.err;
  return std::move(answer.out);
}
inline nlohmann::json json_of(std::vector<std::string> arguments) {
  return nlohmann::json::parse(out_of(with(std::move(arguments), {"--format", "json"})));
}

// Returns what a faulty command line says on stderr; its exit code must be 2.
inline std::string fault_of(const std::vector<std::string>& arguments) {
  Answer answer = run_cli(arguments);
  EXPECT_EQ(answer.code, ExitCode::users_fault) << testing::PrintToString(arguments);
  return std::move(answer.err);
}
// Expects exit code 2, nothing on stdout, and `what` on stderr.
inline void expect_fault(const std::vector<std::string>& arguments, const std::string& what) {
  const Answer answer = run_cli(arguments);
  EXPECT_EQ(answer.code, ExitCode::users_fault) << testing::PrintToString(arguments);
  EXPECT_EQ(answer.out, "") << testing::PrintToString(arguments);
  EXPECT_THAT(answer.err, testing::HasSubstr(what)) << testing::PrintToString(arguments);
}

// While an object lives, configurations are looked for in its folder first.
class ConfigsIn {
 public:
  explicit ConfigsIn(const std::filesystem::path& folder) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, folder.c_str(), 1);
  }
  ~ConfigsIn() { before_ ? setenv(name, before_->c_str(), 1) : unsetenv(name); }
  ConfigsIn(const ConfigsIn&) = delete;
  ConfigsIn& operator=(const ConfigsIn&) = delete;

 private:
  static constexpr auto name = "C3SIM_CONFIGS";
  std::optional<std::string> before_;
};

}  // namespace c3sim::cli
