#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "calibrate/measure/program.h"

int main(int argc, char** argv) {
  using namespace c3sim::measure;
  const Surroundings surroundings{.backends = {{"cuda", open_cuda}, {"hip", open_hip}},
                                  .out = std::cout,
                                  .err = std::cerr,
                                  .terminal = isatty(STDERR_FILENO) != 0,
                                  .abandon = [](const std::string& line) {
                                    std::cerr << "error: " << line << std::endl;
                                    std::_Exit(1);
                                  }};
  return run_program(argc, argv, surroundings);
}
