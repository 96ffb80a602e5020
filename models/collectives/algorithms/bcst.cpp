// This makes concurrent broadcasts to several peers each (DMA-Latte, arXiv 2511.06605: bcst).
#include "models/collectives/algorithm.h"
#include "models/collectives/sdma_collective.h"
#include "models/platform/sdma_spec.h"

namespace c3sim::models::algorithms {

Algorithm bcst() {
  return {.name = "bcst",
          .about = "commands that broadcast to several peers each",
          .kinds = {CollectiveKind::all_gather, CollectiveKind::broadcast},
          .place = 1,
          .by_engines = [](CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
            return engine_copies(step, spec, sdma, sdma.broadcast_width);
          }};
}

}  // namespace c3sim::models::algorithms
