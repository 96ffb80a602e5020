// This makes concurrent copies, each on the engine recommended for its peer (DMA-Latte, arXiv 2511.06605: pcpy).
#include "models/collectives/algorithm.h"
#include "models/collectives/sdma_collective.h"

namespace c3sim::models::algorithms {

Algorithm pcpy() {
  return {.name = "pcpy",
          .about = "a copy per peer on its own engine",
          .place = 0,
          .by_engines = [](CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
            return engine_copies(step, spec, sdma, 1);
          }};
}

}  // namespace c3sim::models::algorithms
