#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cli/command_line.h"

namespace {

// Returns the width of the terminal that standard output is; if it is none, the number in the environment's COLUMNS,
// and 0 without one.
std::size_t out_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) return size.ws_col;
  const char* const said = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (said != nullptr) std::from_chars(said, said + std::strlen(said), columns);
  return columns;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  return static_cast<int>(
      c3sim::cli::run_command_line(argc, argv, std::cout, std::cerr, shows_progress, out_columns()));
}
