// Arbitrary bytes as an experiment file: it is read, and holds only what the platform can run, or it is a ConfigError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/config/config.h"
#include "study/experiment.h"
#include "tests/fuzz/mi300x_testbed.h"
#include "tests/fuzz/require.h"

using namespace c3sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    root.text("platform", "mi300x");
    const study::Experiment experiment = study::read_experiment(root, mi300x_testbed());
    config.finish();
    require(!experiment.schedule.empty());
    for (std::size_t place = 0; place < experiment.schedule.size(); ++place) {
      const study::Operation& operation = experiment.schedule[place];
      require(mi300x_testbed().why_impossible(operation.work).empty());
      for (const std::size_t earlier : operation.after) require(earlier < place);
      require(operation.mask.begin <= operation.mask.end);
    }
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
  }
  return 0;
}
