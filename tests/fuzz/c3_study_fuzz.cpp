// Arbitrary bytes as the file of a C3 study: it is read, and some strategy can run every pair, or it is a ConfigError.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "study/c3/c3_study.h"
#include "tests/fuzz/mi300x_testbed.h"
#include "tests/fuzz/require.h"

using namespace c3sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  read_for_mi300x(bytes, size, study::read_c3_study, [](const study::C3Study& study) {
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
  return 0;
}
