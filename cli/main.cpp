#include <unistd.h>

#include <iostream>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return static_cast<int>(c3sim::cli::run_command_line(argc, argv, std::cout, std::cerr, isatty(STDERR_FILENO) == 1));
}
