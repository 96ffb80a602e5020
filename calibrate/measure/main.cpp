#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "calibrate/measure/backends/backend.h"
#include "calibrate/measure/program.h"

int main(int argc, char** argv) {
  using namespace c3sim::measure;
  std::vector<Backend> backends;
#ifdef C3SIM_MEASURE_CUDA
  backends.push_back({"cuda", open_cuda});
#endif
#ifdef C3SIM_MEASURE_HIP
  backends.push_back({"hip", open_hip});
#endif
  const Surroundings surroundings{.backends = backends,
                                  .out = std::cout,
                                  .err = std::cerr,
                                  .terminal = isatty(STDERR_FILENO) != 0,
                                  .abandon = [](const std::string& line) {
                                    std::cerr << "error: " << line << std::endl;
                                    std::_Exit(1);
                                  }};
  return run_program(argc, argv, surroundings);
}
