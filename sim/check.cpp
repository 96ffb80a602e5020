#include "sim/check.h"

#include <fmt/format.h>

namespace c3sim::sim {
namespace {
// Returns the last folder and the name of a source file, which do not depend on where the project was built.
std::string_view within_project(std::string_view file) {
  const auto name = file.rfind('/');
  if (name == std::string_view::npos || name == 0) return file;
  const auto folder = file.rfind('/', name - 1);
  return folder == std::string_view::npos ? file : file.substr(folder + 1);
}
}  // namespace

InternalError::InternalError(std::string_view expression, std::string_view file, int line)
    : expression_(expression),
      message_(fmt::format("check failed: {} ({}:{})", expression, within_project(file), line)) {}

void InternalError::locate(std::string_view at, std::string_view process) {
  if (located_) return;
  located_ = true;
  message_ += fmt::format(" at {}", at);
  if (!process.empty()) message_ += fmt::format(" in process '{}'", process);
}

void detail::check_failed(const char* expression, const char* file, int line) {
  throw InternalError(expression, file, line);
}

}  // namespace c3sim::sim
