// Arbitrary bytes as the file of a C3 study: it is read, and some strategy can run every pair, or it is a ConfigError.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/config/config.h"
#include "study/c3_study_file.h"
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
    const study::C3Study study = study::read_c3_study(root, testbed());
    config.finish();
    require(!study.strategies.empty() && !study.collectives.empty());
    require(1.0 <= study.longer_by && study.longer_by <= 10.0);
    for (const study::StudyPair& pair : study.pairs) {
      require(testbed().why_impossible(pair.gemm).empty());
      for (const models::CollectiveKind kind : study.collectives) {
        const study::Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
        require(std::ranges::any_of(study.strategies, [&](study::Strategy strategy) {
          return testbed().why_impossible(study::collective_of(scenario, strategy, testbed().platform())).empty();
        }));
      }
    }
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
  }
  return 0;
}
