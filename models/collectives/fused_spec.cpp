#include "models/collectives/fused_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/kernels/gemm_plan.h"
#include "models/sdma/sdma_packet.h"

namespace c3sim::models {

namespace {

constexpr std::int64_t most_pieces = 8;  // per shard, as in FiCCO (arXiv 2512.10236)

}  // namespace

std::string to_string(const FusedSpec& spec) {
  return fmt::format("gemm {} fused with {} {}, {}{}, {} pieces a shard", to_string(spec.gemm), to_string(spec.path),
                     to_string(spec.kind), to_string(spec.trigger), spec.stores ? ", stored by it" : "", spec.pieces);
}

double sum_element(const FusedSpec& spec) { return std::max(spec.gemm.element(), GemmShape::element_bytes); }

sim::Bytes shard_bytes(const FusedSpec& spec, int gpus) {
  const std::int64_t tokens_each = spec.gemm.n / gpus;
  const auto tokens = static_cast<double>(tokens_each);
  const double element = spec.gathers() ? spec.gemm.element() : sum_element(spec);
  return sim::Bytes(tokens * static_cast<double>(spec.gathers() ? spec.gemm.k : spec.gemm.m) * element);
}

CollectiveSpec collective_of(const FusedSpec& spec, int gpus) {
  CollectiveSpec collective;
  collective.kind = spec.kind;
  collective.gpus = spec.gpus_of(gpus);
  collective.bytes = shard_bytes(spec, collective.gpus) * static_cast<double>(collective.gpus);
  collective.host_threads = HostThreads::per_gpu;
  return collective;
}

FusedSpec by_tracker(const GemmShape& shape, int gpus, const PlatformSpec& platform) {
  const bool around = platform.fabric.topology == Topology::fabric_switch && platform.gpu.memory.adds();
  FusedSpec spec{.gemm = shape,
                 .path = around ? FusedPath::ring : FusedPath::direct,
                 .trigger = trigger_named("tracker"),
                 .stores = around,
                 .pieces = most_pieces,
                 .gpus = gpus};
  while (spec.pieces > 1 && !why_impossible(spec, platform).empty()) spec.pieces /= 2;
  return spec;
}

bool ends_with_kernel(const FusedSpec& spec, const PlatformSpec& platform) {
  return spec.gathers() || (spec.kind == CollectiveKind::reduce_scatter && !platform.gpu.memory.adds());
}

std::string why_impossible(const FusedSpec& spec, const PlatformSpec& platform) {
  const int gpus = spec.gpus_of(platform.gpus);
  if (!spec.gathers() && !spec.reduces() && spec.kind != CollectiveKind::all_to_all) {
    return "a GEMM is fused with the all_gather that feeds it, or with a reduce_scatter, an all_reduce or an "
           "all_to_all of its result";
  }
  if (gpus < 2 || gpus > platform.gpus) {
    return fmt::format("pieces travel between GPUs: 2 to {} are accepted, not {}", platform.gpus, gpus);
  }
  if (spec.path == FusedPath::ring && spec.kind == CollectiveKind::all_to_all) {
    return "an all_to_all is exchanged directly: path: direct is accepted";
  }
  if (spec.all_reduces() && !platform.gpu.memory.adds()) {
    return "pieces of an all_reduce go on when memory has added them up: gpu.memory.near_memory hbm or infinity_cache "
           "is accepted, or kind: reduce_scatter";
  }
  if (spec.path == FusedPath::ring && spec.reduces() && !platform.gpu.memory.adds()) {
    return "on a ring each memory adds what passes: gpu.memory.near_memory hbm or infinity_cache is accepted, or path: "
           "direct";
  }
  if (spec.stores && spec.gathers()) return "what is gathered is no GEMM's result: stores: false is accepted";
  const std::int64_t shard = spec.gemm.n / gpus;
  if (spec.gemm.n % (gpus * spec.pieces) != 0) {
    return fmt::format("{} tokens (n) do not divide into {} shards of {} pieces: multiples of {} are accepted",
                       spec.gemm.n, gpus, spec.pieces, gpus * spec.pieces);
  }
  const std::int64_t tiles = plan_gemm(platform.gpu, spec.gemm).pieces();
  if (tiles < gpus) {
    return fmt::format("{} tiles of the GEMM are fewer than {} GPUs: a larger product is accepted", tiles, gpus);
  }
  if (tiles < gpus * spec.pieces) {
    return fmt::format(
        "{} tiles of the GEMM cannot be had in {} pieces of {} shards ({} tokens each): {} pieces are "
        "accepted, or a larger product",
        tiles, spec.pieces, gpus, shard, tiles / gpus);
  }
  const SdmaSpec& sdma = platform.gpu.sdma;
  const bool on_ring = spec.path == FusedPath::ring;
  const int queues = std::max(1, (on_ring ? 1 : sdma.engines - sdma.host_engines) * sdma.queues_per_engine);
  const int of_all_queues = (spec.all_reduces() ? 2 : 1) * (on_ring ? 1 : gpus - 1);
  const int programs = (of_all_queues - 1 + queues) / queues;
  TransferCommand transfer;
  transfer.source.bytes = shard_bytes(spec, gpus) / static_cast<double>(spec.pieces);
  transfer.destinations.emplace_back();
  const std::int64_t each = spec.pieces * (on_ring ? gpus - 1 : 1);
  const sim::Bytes queued = static_cast<double>(programs) *
                            (static_cast<double>(each) * (sdma.packets.poll + ring_bytes(transfer, sdma.packets)) +
                             sdma.packets.atomic + sdma.packets.trap);
  if (queued <= sdma.ring) return {};
  return fmt::format(
      "an engine has {} of packets queued beforehand, but a ring holds {}: fewer pieces or a larger "
      "gpu.sdma.ring are accepted",
      sim::to_string(queued), sim::to_string(sdma.ring));
}

}  // namespace c3sim::models
