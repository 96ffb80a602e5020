#include "models/collectives/engine_back_to_back.h"

#include <algorithm>
#include <utility>

namespace c3sim::models {

std::vector<EngineProgram> engine_back_to_back(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
  const int used = std::min(spec.engines, spec.gpus - 1);
  EngineLayout layout(step, spec, sdma, used);
  for (const int gpu : layout.senders()) {
    const std::vector<int> peers = layout.peers_of(gpu);
    for (std::size_t first = 0; first < static_cast<std::size_t>(used); ++first) {
      std::vector<TransferCommand> transfers;
      for (std::size_t i = first; i < peers.size(); i += static_cast<std::size_t>(used)) {
        transfers.push_back(layout.transfer(gpu, peers[i]));
      }
      layout.add(gpu, peers[first], std::move(transfers));
    }
  }
  return std::move(layout).take();
}

}  // namespace c3sim::models
