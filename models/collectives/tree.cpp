#include "models/collectives/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/collectives/rccl_channels.h"
#include "models/node.h"
#include "models/platform/rccl_spec.h"

namespace c3sim::models {

namespace {

// Returns the chunk of a channel by the protocol Simple. It is smaller for a short array, so that a chain of `depth`
// hops fills sooner (NCCL 2.28, src/enqueue.cc).
sim::Bytes chunk_of(sim::Bytes of_channel, double depth) {
  sim::Bytes chunk(512 << 10);
  for (const auto& [rounds, least] : {std::pair(8.0, sim::Bytes(128 << 10)), std::pair(4.0, sim::Bytes(64 << 10)),
                                      std::pair(1.0, sim::Bytes(32 << 10))}) {
    while (of_channel / chunk < rounds * depth && chunk > least) chunk = 0.5 * chunk;
  }
  return chunk;
}

}  // namespace

std::string why_no_tree(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (!platform.rccl.tree_tuner) {
    return fmt::format("trees of {} are not described (rccl.tree_tuner): the algorithm ring is accepted",
                       platform.name);
  }
  if (spec.kind != CollectiveKind::all_reduce) {
    return fmt::format("a tree has no {}: the algorithm ring is accepted, or an all_reduce", to_string(spec.kind));
  }
  return {};
}

bool takes_tree(const CollectiveSpec& spec, const PlatformSpec& platform) {
  const RcclSpec& library = platform.rccl;
  if (spec.backend != Backend::rccl) return false;
  if (spec.algorithm) return *spec.algorithm == RcclAlgorithm::tree;
  if (!library.tuner || !why_no_tree(spec, platform).empty()) return false;
  return library.expected(RcclAlgorithm::tree, spec) < library.expected(RcclAlgorithm::ring, spec);
}

ChannelProgram tree(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const RcclSpec& library = node.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec.kind);
  const int channels = library.channels(spec);
  const double peers = spec.gpus - 1.0;
  const sim::Bytes payload = 2.0 / peers * spec.bytes;
  ChannelDealing dealing;
  dealing.algorithm = RcclAlgorithm::tree;
  dealing.hops = 2.0 * peers;
  dealing.loop_bytes = collective.loop_bytes;
  RingRounds& rounds = dealing.rounds.emplace();
  rounds.tuned_hops = dealing.hops;
  rounds.filling_hops = dealing.hops;
  rounds.chunk = chunk_of(1.0 / channels * spec.bytes, peers);
  dealing.busiest = {payload, payload, channels / peers};
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      if (from != to) dealing.transfers.push_back({from, to, channels / peers, payload});
    }
  }
  return rccl_program(node, spec, mask, std::move(dealing));
}

}  // namespace c3sim::models
