#include "models/platform/collective_spec.h"

#include "models/platform/sdma_spec.h"

namespace c3sim::models {

sim::BytesPerSecond bus_bandwidth(const CollectiveSpec& spec, sim::Time time) {
  const double peers_share = static_cast<double>(spec.gpus - 1) / static_cast<double>(spec.gpus);
  double factor = peers_share;
  if (spec.kind == CollectiveKind::all_reduce) factor = 2.0 * peers_share;
  if (spec.kind == CollectiveKind::broadcast) factor = 1.0;
  return factor * spec.bytes / sim::to_seconds(time);
}

namespace {

bool is_shared(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  return spec.backend == Backend::sdma && spec.kind == CollectiveKind::all_reduce && !sdma.reduction;
}

}  // namespace

std::optional<CollectiveSpec> kernel_part(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  if (by_kernels(spec.backend)) return spec;
  if (!is_shared(spec, sdma)) return {};
  CollectiveSpec part = spec;
  part.backend = Backend::rccl;
  part.kind = CollectiveKind::reduce_scatter;
  return part;
}

std::optional<CollectiveSpec> engine_part(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  if (by_kernels(spec.backend)) return {};
  CollectiveSpec part = spec;
  if (is_shared(spec, sdma)) part.kind = CollectiveKind::all_gather;
  return part;
}

}  // namespace c3sim::models
