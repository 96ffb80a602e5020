#include "models/collectives/nvls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/collectives/rccl_transfers.h"
#include "models/collectives/tree.h"
#include "models/node.h"
#include "models/platform/rccl_spec.h"

namespace c3sim::models {

namespace {

constexpr double stages = 3.0;  // per round

// The switch adds these kinds of elements (NCCL 2.28, ncclNvlsSupported).
constexpr std::array added_in_switch{ElementType::bf16, ElementType::fp16, ElementType::fp32, ElementType::int32};

// A Round is one of all channels.
struct Round {
  sim::Bytes array;  // bytes of the array
  sim::Bytes out;    // bytes that leave a GPU's port; as many arrive
};

// Returns the chunk of one part. It is smaller for small arrays, so that several rounds overlap (NCCL 2.28,
// src/enqueue.cc).
sim::Bytes chunk_of(const CollectiveSpec& spec, const NvlsSpec& library, double parts) {
  sim::Bytes chunk = 1.0 / spec.gpus * library.chunk;
  for (const auto& [rounds, most] : {std::pair(8.0, sim::Bytes(32 << 10)), std::pair(2.0, sim::Bytes(16 << 10))}) {
    if (spec.bytes < rounds * parts * chunk) chunk = std::min(chunk, most);
  }
  return chunk;
}

// In a round a GPU's port sends one part of its addends for every GPU, its own included, and the results of its own
// part. It receives the sums of its own part and all results.
Round round_of(const CollectiveSpec& spec, const NvlsSpec& library) {
  const double parts = static_cast<double>(nvls_channels(spec, library)) * spec.gpus;
  const sim::Bytes array = std::min(spec.bytes, parts * chunk_of(spec, library, parts));
  return {array, (1.0 + 1.0 / spec.gpus) * array};
}

}  // namespace

int nvls_channels(const CollectiveSpec& spec, const NvlsSpec& library) {
  return std::min(spec.channels.value_or(library.channels), library.channels);
}

std::string why_no_nvls(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (!platform.rccl.nvls) {
    return fmt::format("nothing adds in the switches of {} (rccl.nvls): the algorithm ring is accepted", platform.name);
  }
  if (!platform.rccl.nvls->enabled) {
    return "sums in the switches are turned off (rccl.nvls.enabled): the algorithm ring is accepted";
  }
  if (spec.kind != CollectiveKind::all_reduce) {
    return fmt::format("nvls has no {}: the algorithm ring is accepted, or an all_reduce", to_string(spec.kind));
  }
  if (spec.gpus < 3) return "nvls takes no less than 3 GPUs: the algorithm ring is accepted, or more GPUs";
  if (std::ranges::find(added_in_switch, spec.dtype) == added_in_switch.end()) {
    return fmt::format("switches do not add {}: bf16, fp16, fp32 and int32 are accepted, or the algorithm ring",
                       to_string(spec.dtype));
  }
  return {};
}

bool takes_nvls(const CollectiveSpec& spec, const PlatformSpec& platform) {
  const RcclSpec& library = platform.rccl;
  if (spec.backend != Backend::rccl) return false;
  if (spec.algorithm) return *spec.algorithm == RcclAlgorithm::nvls;
  if (!library.tuner || !why_no_nvls(spec, platform).empty()) return false;
  const sim::Seconds expected = sim::to_seconds(library.nvls->tuned_base) + spec.bytes / library.nvls->tuned_rate;
  return expected < library.expected(takes_tree(spec, platform) ? RcclAlgorithm::tree : RcclAlgorithm::ring, spec);
}

ChannelProgram nvls(Node& node, const CollectiveSpec& spec) {
  const NvlsSpec& library = *node.spec().rccl.nvls;
  const FabricSpec& fabric = node.spec().fabric;
  const Round round = round_of(spec, library);
  const sim::BytesPerSecond port =
      library.link_efficiency / fabric.write_cost / (1.0 + fabric.reverse_share) * fabric.link_rate;
  const sim::Seconds time = sim::to_seconds(library.round_latency) + round.out / port;
  const double per_port = round.array / round.out;  // bytes of the array for each of the port

  ChannelProgram program;
  program.channels = nvls_channels(spec, library);
  program.channel = library.channel;
  program.protocol = to_string(RcclAlgorithm::nvls);
  program.fills = {4.0 * per_port, 2.0 * per_port};
  ChannelStep& step = program.steps.emplace_back();
  step.latency = library.start + sim::to_time((stages - 1.0) * time);
  Demand& demand = step.demand;
  // The array is read once and the result written once; the buffers stay in the L2.
  demand.own = {4.0 * per_port, {per_port, per_port, 0.0}, {}};
  PeerDemand& peer = demand.peer.emplace();
  peer.link_bytes = 1.0 / library.link_efficiency;
  peer.memory = {0.0, {}, {0.0, 1.0, 1.0}};
  demand.in_flight = 1.0 / program.channels * round.out;
  demand.waits = true;
  demand.waits_for_peer = false;
  demand.step_latency = sim::to_time(time) - std::min(sim::to_time(time), node.gpu(0).memory().latency(0.0));
  const double peers = spec.gpus - 1.0;
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      if (from == to) continue;
      step.transfers.push_back({from, to, program.channels / peers, 1.0 / (peers * per_port) * spec.bytes});
      for (const Delivery& delivery : rccl_transfers(spec, from, to)) step.deliveries.push_back(delivery);
    }
  }
  return program;
}

}  // namespace c3sim::models
