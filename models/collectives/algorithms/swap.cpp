// This exchanges in place, with one swap per pair of GPUs that one of the two runs. Each GPU runs those with at most
// half of its peers, rounded up (DMA-Latte, arXiv 2511.06605: swap).
#include <utility>

#include "models/collectives/algorithm.h"
#include "models/collectives/sdma_collective.h"

namespace c3sim::models::algorithms {

Algorithm swap() {
  return {.name = "swap",
          .about = "an exchange in place",
          .kinds = {CollectiveKind::all_to_all},
          .place = 2,
          .by_engines =
              [](CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
                EngineLayout layout(step, spec, sdma, 1);
                for (const int gpu : layout.senders()) {
                  for (int distance = 1; 2 * distance <= spec.gpus; ++distance) {
                    // Otherwise pairs of opposite GPUs would swap twice, once from each end.
                    if (2 * distance == spec.gpus && gpu >= distance) continue;
                    const int peer = (gpu + distance) % spec.gpus;
                    TransferCommand command = layout.transfer(gpu, peer);
                    command.kind = TransferKind::swap;
                    layout.add(gpu, peer, {std::move(command)});
                  }
                }
                return std::move(layout).take();
              },
          .in_place = true,
          .gpus_alike = false};
}

}  // namespace c3sim::models::algorithms
