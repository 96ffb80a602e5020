#include "models/collectives/engine_copies.h"

#include <algorithm>
#include <utility>

namespace c3sim::models {

std::vector<EngineProgram> engine_copies(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma,
                                         int width) {
  EngineLayout layout(step, spec, sdma, (spec.gpus - 1 + width - 1) / width);
  for (const int gpu : layout.senders()) {
    const std::vector<int> peers = layout.peers_of(gpu);
    const auto step_width = static_cast<std::size_t>(width);
    for (std::size_t first = 0; first < peers.size(); first += step_width) {
      TransferCommand command = layout.transfer(gpu, peers[first]);
      for (std::size_t i = first + 1; i < std::min(first + step_width, peers.size()); ++i) {
        command.destinations.push_back(layout.transfer(gpu, peers[i]).destinations.front());
      }
      layout.add(gpu, peers[first], {std::move(command)});
    }
  }
  return std::move(layout).take();
}

}  // namespace c3sim::models
