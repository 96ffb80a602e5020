#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "cli/command_line.h"

namespace {

// Returns the width of the terminal that standard output is, or 0 if it is no terminal.
std::size_t out_columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int main(int argc, char** argv) {
  using c3sim::cli::ShownProgress;
  std::ios::sync_with_stdio(false);
  const ShownProgress progress = isatty(STDERR_FILENO) == 1 ? ShownProgress::bar : ShownProgress::lines;
  return static_cast<int>(c3sim::cli::run_command_line(argc, argv, std::cout, std::cerr, progress, out_columns()));
}
