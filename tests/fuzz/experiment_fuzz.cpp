// Arbitrary bytes as an experiment file: it is read, and holds only what the platform can run, or it is a ConfigError.
#include <cstddef>
#include <cstdint>

#include "study/experiment.h"
#include "tests/fuzz/mi300x_testbed.h"
#include "tests/fuzz/require.h"

using namespace c3sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  read_for_mi300x(bytes, size, study::read_experiment, [](const study::Experiment& experiment) {
    require(!experiment.schedule.empty());
    for (std::size_t place = 0; place < experiment.schedule.size(); ++place) {
      const study::Operation& operation = experiment.schedule[place];
      require(mi300x_testbed().why_impossible(operation.work).empty());
      for (const std::size_t earlier : operation.after) require(earlier < place);
      require(operation.mask.begin <= operation.mask.end);
    }
  });
  return 0;
}
