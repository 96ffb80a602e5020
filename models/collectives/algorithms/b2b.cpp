// This queues all copies of a GPU back to back on the engines that it is given (DMA-Latte, arXiv 2511.06605: b2b).
#include <algorithm>
#include <utility>

#include "models/collectives/algorithm.h"
#include "models/collectives/sdma_collective.h"

namespace c3sim::models::algorithms {

Algorithm b2b() {
  return {.name = "b2b",
          .about = "all copies of a GPU back to back",
          .place = 3,
          .by_engines =
              [](CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
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
              },
          .many_engines = true};
}

}  // namespace c3sim::models::algorithms
