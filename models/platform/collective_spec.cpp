#include "models/platform/collective_spec.h"

#include <algorithm>
#include <array>

#include "models/platform/sdma_spec.h"

namespace c3sim::models {

std::span<const BackendAbilities> backends() {
  using enum CollectiveKind;
  static const std::array<BackendAbilities, 4> abilities{{
      {Backend::rccl, {all_gather, all_to_all, all_reduce, reduce_scatter, broadcast}},
      {Backend::sdma, {all_gather, all_to_all, all_reduce, reduce_scatter, broadcast}},
      {Backend::one_shot, {all_gather, all_to_all, all_reduce, reduce_scatter}},
      {Backend::two_shot, {all_reduce}},
  }};
  return abilities;
}

const BackendAbilities& abilities_of(Backend backend) {
  return *std::ranges::find(backends(), backend, &BackendAbilities::backend);
}

std::span<const SdmaPlan> sdma_plans() {
  using enum CollectiveKind;
  static const std::array<SdmaPlan, 4> plans{{
      {SdmaVariant::pcpy, {all_gather, all_to_all, all_reduce, reduce_scatter, broadcast}},
      {SdmaVariant::bcst, {all_gather, broadcast}},
      {.variant = SdmaVariant::swap, .kinds = {all_to_all}, .in_place = true, .gpus_alike = false},
      {.variant = SdmaVariant::b2b,
       .kinds = {all_gather, all_to_all, all_reduce, reduce_scatter, broadcast},
       .many_engines = true},
  }};
  return plans;
}

const SdmaPlan& plan_of(SdmaVariant variant) { return *std::ranges::find(sdma_plans(), variant, &SdmaPlan::variant); }

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

bool is_symmetric(const CollectiveSpec& spec, int gpus, HostThreads platform_threads) {
  if (spec.gpus != gpus || spec.first != 0 || spec.kind == CollectiveKind::broadcast) return false;
  if (by_kernels(spec.backend)) return true;
  // A single host thread serves the GPUs one after the other.
  return plan_of(spec.variant).gpus_alike && spec.host_threads.value_or(platform_threads) == HostThreads::per_gpu;
}

}  // namespace c3sim::models
