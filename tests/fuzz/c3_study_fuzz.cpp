// Reads arbitrary bytes as the file of a C3 study: some strategy can run every pair, or there is a ConfigError.
#include <algorithm>

#include "sim/config/config.h"
#include "study/c3/c3_study.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mi300x_testbed.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    root.text("platform", "mi300x");
    const study::C3Study study = study::read_c3_study(root, mi300x_testbed());
    config.finish();
    require(!study.strategies.empty() && !study.collectives.empty());
    require(1.0 <= study.longer_by && study.longer_by <= 10.0);
    for (const study::StudyPair& pair : study.pairs) {
      require(mi300x_testbed().why_impossible(pair.gemm).empty());
      for (const models::CollectiveKind kind : study.collectives) {
        const study::Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
        require(std::ranges::any_of(study.strategies, [&](study::Strategy strategy) {
          return mi300x_testbed()
              .why_impossible(study::collective_of(scenario, strategy, mi300x_testbed().platform()))
              .empty();
        }));
      }
    }
  });
}
