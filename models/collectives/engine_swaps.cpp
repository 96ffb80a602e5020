#include "models/collectives/engine_swaps.h"

#include <utility>

namespace c3sim::models {

std::vector<EngineProgram> engine_swaps(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
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
}

}  // namespace c3sim::models
