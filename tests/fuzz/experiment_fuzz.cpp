// Arbitrary bytes as an experiment file: it is read, and holds only what the platform can run, or it is a ConfigError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/config/config.h"
#include "study/experiment.h"
#include "study/platform_file.h"

using namespace c3sim;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

const study::Testbed& testbed() {
  static const study::Testbed mi300x(study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}).spec);
  return mi300x;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    root.text("platform", "mi300x");
    const study::Experiment experiment = study::read_experiment(root, testbed());
    config.finish();
    require(!experiment.schedule.empty());
    for (std::size_t place = 0; place < experiment.schedule.size(); ++place) {
      const study::Operation& operation = experiment.schedule[place];
      require(testbed().why_impossible(operation.work).empty());
      for (const std::size_t earlier : operation.after) require(earlier < place);
      require(operation.mask.begin <= operation.mask.end);
    }
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
  }
  return 0;
}
