#include "models/collectives/engine_program.h"

#include <algorithm>
#include <numeric>

#include "models/collectives/deliveries.h"

namespace c3sim::models {

EngineLayout::EngineLayout(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma, int side_by_side)
    : step_(step), spec_(spec), sdma_(sdma) {
  const bool one_shard = step == CollectiveKind::all_gather || step == CollectiveKind::broadcast;
  readers_ = one_shard ? side_by_side : 1;
}

std::vector<int> EngineLayout::senders() const {
  std::vector<int> senders(step_ == CollectiveKind::broadcast ? 1 : static_cast<std::size_t>(spec_.gpus));
  std::iota(senders.begin(), senders.end(), 0);
  return senders;
}

std::vector<int> EngineLayout::peers_of(int gpu) const {
  std::vector<int> peers;
  for (int i = 1; i < spec_.gpus; ++i) peers.push_back((gpu + i) % spec_.gpus);
  return peers;
}

TransferCommand EngineLayout::transfer(int gpu, int peer) const {
  const bool reduces = step_ == CollectiveKind::reduce_scatter;
  const Delivery due = deliveries(step_, spec_, reduces ? peer : gpu, reduces ? gpu : peer).front();
  TransferCommand command{.kind = reduces ? TransferKind::reduce : TransferKind::copy,
                          .source = due.source,
                          .destinations = {due.destination},
                          .readers = readers_};
  return command;
}

void EngineLayout::add(int gpu, int peer, std::vector<TransferCommand> transfers) {
  const int engine = sdma_.recommended_engine(spec_.first + gpu, spec_.first + peer);
  const int queue = used_queues_[{gpu, engine}]++ % sdma_.queues_per_engine;
  programs_.push_back({spec_.first + gpu, engine, queue, std::move(transfers)});
}

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
