#include "models/collectives/sdma_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "models/collectives/deliveries.h"

namespace c3sim::models {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma)
      : step_(step), spec_(spec), sdma_(sdma), readers_(readers()) {}

  std::vector<EngineProgram> build() {
    for (int gpu = 0; gpu < spec_.gpus; ++gpu) {
      if (step_ == CollectiveKind::broadcast && gpu != 0) continue;
      switch (spec_.variant) {
        case SdmaVariant::pcpy:
          add_copies(gpu, 1);
          break;
        case SdmaVariant::bcst:
          add_copies(gpu, static_cast<std::size_t>(sdma_.broadcast_width));
          break;
        case SdmaVariant::swap:
          add_swaps(gpu);
          break;
        case SdmaVariant::b2b:
          add_back_to_back(gpu);
          break;
      }
    }
    return std::move(programs_);
  }

 private:
  // Copies of one shard to all peers go side by side, where they are not queued behind each other.
  int readers() const {
    const bool one_shard = step_ == CollectiveKind::all_gather || step_ == CollectiveKind::broadcast;
    if (!one_shard) return 1;
    const int peers = spec_.gpus - 1;
    const int width = spec_.variant == SdmaVariant::bcst ? sdma_.broadcast_width : 1;
    return spec_.variant == SdmaVariant::b2b ? std::min(spec_.engines, peers) : (peers + width - 1) / width;
  }

  // Starting behind itself, so that no GPU is everyone's first target.
  std::vector<int> peers_of(int gpu) const {
    std::vector<int> peers;
    for (int i = 1; i < spec_.gpus; ++i) peers.push_back((gpu + i) % spec_.gpus);
    return peers;
  }

  // What an engine of `gpu` does for its pair with `peer`: pushes what that one is due, or pulls what it adds.
  TransferCommand transfer(int gpu, int peer) const {
    const bool reduces = step_ == CollectiveKind::reduce_scatter;
    const Delivery due = deliveries(step_, spec_, reduces ? peer : gpu, reduces ? gpu : peer).front();
    TransferCommand command;
    command.kind = reduces ? TransferKind::reduce : TransferKind::copy;
    command.source = due.source;
    command.destinations = {due.destination};
    command.readers = readers_;
    return command;
  }

  void add(int gpu, int peer, std::vector<TransferCommand> transfers) {
    const int engine = sdma_.recommended_engine(gpu, peer);
    const int queue = used_queues_[{gpu, engine}]++ % sdma_.queues_per_engine;
    programs_.push_back({gpu, engine, queue, std::move(transfers)});
  }

  void add_copies(int gpu, std::size_t width) {
    const std::vector<int> peers = peers_of(gpu);
    for (std::size_t first = 0; first < peers.size(); first += width) {
      TransferCommand command = transfer(gpu, peers[first]);
      for (std::size_t i = first + 1; i < std::min(first + width, peers.size()); ++i) {
        command.destinations.push_back(transfer(gpu, peers[i]).destinations.front());
      }
      add(gpu, peers[first], {std::move(command)});
    }
  }

  void add_swaps(int gpu) {
    for (int distance = 1; 2 * distance <= spec_.gpus; ++distance) {
      // Pairs of opposite GPUs would be met from both ends.
      if (2 * distance == spec_.gpus && gpu >= distance) continue;
      const int peer = (gpu + distance) % spec_.gpus;
      TransferCommand command = transfer(gpu, peer);
      command.kind = TransferKind::swap;
      add(gpu, peer, {std::move(command)});
    }
  }

  void add_back_to_back(int gpu) {
    const std::vector<int> peers = peers_of(gpu);
    const auto engines = static_cast<std::size_t>(spec_.engines);
    for (std::size_t first = 0; first < std::min(engines, peers.size()); ++first) {
      std::vector<TransferCommand> transfers;
      for (std::size_t i = first; i < peers.size(); i += engines) transfers.push_back(transfer(gpu, peers[i]));
      add(gpu, peers[first], std::move(transfers));
    }
  }

  CollectiveKind step_;
  const CollectiveSpec& spec_;
  const SdmaSpec& sdma_;
  int readers_;
  std::vector<EngineProgram> programs_;
  std::map<std::pair<int, int>, int> used_queues_;  // by GPU and engine
};

bool does(const SdmaPlan& plan, CollectiveKind kind) { return std::ranges::count(plan.kinds, kind) > 0; }

// "pcpy, bcst or b2b".
std::string plans_for(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const SdmaPlan& plan : sdma_plans()) {
    if (does(plan, kind)) names.push_back(plan.name);
  }
  const std::span<const std::string_view> all(names);
  return fmt::format("{} or {}", fmt::join(all.first(all.size() - 1), ", "), all.back());
}

// Everything queued behind a POLL must fit in its ring: the thread that would wait for room is the one that releases
// it.
std::string why_not_prelaunched(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  std::map<std::array<int, 3>, sim::Bytes> queued;  // by GPU, engine and queue
  for (const CollectiveKind step : sdma_steps(spec.kind)) {
    for (const EngineProgram& program : sdma_programs(step, spec, sdma)) {
      sim::Bytes& bytes = queued[{program.gpu, program.engine, program.queue}];
      bytes += sdma.packets.poll + sdma.packets.fence + sdma.packets.atomic + sdma.packets.trap;
      for (const TransferCommand& transfer : program.transfers) bytes += ring_bytes(transfer, sdma.packets);
      if (bytes > sdma.ring) {
        return "prelaunch queues " + sim::to_string(bytes) + " of packets or more behind a POLL, but a ring holds " +
               sim::to_string(sdma.ring) + ": use a larger ring or a smaller array";
      }
    }
  }
  return {};
}

}  // namespace

std::vector<CollectiveKind> sdma_steps(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return {CollectiveKind::reduce_scatter, CollectiveKind::all_gather};
  return {kind};
}

std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
  return ProgramBuilder(step, spec, sdma).build();
}

std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma, int gpus) {
  const int link_engines = sdma.engines - sdma.host_engines;
  const bool reduces = spec.kind == CollectiveKind::reduce_scatter || spec.kind == CollectiveKind::all_reduce;
  const SdmaPlan& plan = plan_of(spec.variant);
  if (spec.gpus < 2 || spec.gpus > gpus) {
    return "a collective takes 2 to " + std::to_string(gpus) + " GPUs of this platform, not " +
           std::to_string(spec.gpus);
  }
  if (spec.bytes < sim::Bytes(1.0)) return "a collective moves at least one byte";
  if (reduces && !sdma.reduction) {
    return "copy engines do not reduce: use the backend rccl, or engines with gpu.sdma.reduction = true";
  }
  if (!does(plan, spec.kind)) {
    return fmt::format("variant {} does not exist for {}; use {}", plan.name, to_string(spec.kind),
                       plans_for(spec.kind));
  }
  if (spec.engines < 1 || spec.engines > link_engines) {
    return "a GPU has " + std::to_string(link_engines) + " engines for its links, so b2b runs on 1 to that many, not " +
           std::to_string(spec.engines);
  }
  if (spec.engines > 1 && !plan.many_engines) return "a number of engines is a choice of b2b alone";
  return spec.prelaunch ? why_not_prelaunched(spec, sdma) : std::string();
}

}  // namespace c3sim::models
