#include "models/collectives/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/collectives/algorithm.h"
#include "models/collectives/kernel_collective.h"
#include "models/collectives/nvls.h"
#include "models/collectives/peer_loads.h"
#include "models/collectives/sdma_collective.h"
#include "models/collectives/stream_fill.h"
#include "models/collectives/tree.h"
#include "models/node.h"

namespace c3sim::models {

int channels_of(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (spec.backend == Backend::rccl)
    return takes_nvls(spec, platform) ? nvls_channels(spec, *platform.rccl.nvls) : platform.rccl.channels(spec);
  return peer_load_workgroups(spec, platform.shots);
}

std::string why_no_channels(const CollectiveSpec& spec, int channels, const PlatformSpec& platform) {
  const bool by_library = spec.backend == Backend::rccl;
  const int slots = platform.gpu.slots(
      platform.gpu.cus(), by_library ? platform.rccl.collective(spec.kind).channel : platform.shots.workgroup);
  if (channels >= 1 && channels <= slots) return {};
  return fmt::format("{} channels cannot be had: 1 to {} are accepted, which fit on the CUs", channels, slots);
}

std::string why_impossible(const CollectiveSpec& spec, const Node& node) {
  const PlatformSpec& platform = node.spec();
  if (platform.gpus < 2) return "a node of one GPU has no collectives: gpus of at least 2 is accepted";
  if (spec.gpus < 2 || spec.gpus > platform.gpus) {
    return fmt::format("{} GPUs cannot take part: 2 to {} are accepted", spec.gpus, platform.gpus);
  }
  if (spec.first < 0 || spec.first + spec.gpus > platform.gpus) {
    return fmt::format("{} GPUs from gpu{} on are more than the node has: 0 to {} is accepted as the first", spec.gpus,
                       spec.first, platform.gpus - spec.gpus);
  }
  if (spec.bytes < sim::Bytes(spec.gpus)) {
    return fmt::format("{} cannot be split over {} GPUs: at least a byte for each is due", sim::to_string(spec.bytes),
                       spec.gpus);
  }
  const std::vector<CollectiveKind>& kinds = algorithm_of(spec.backend).kinds;
  if (std::ranges::find(kinds, spec.kind) == kinds.end()) {
    std::vector<std::string_view> names;
    for (const CollectiveKind kind : kinds) names.push_back(to_string(kind));
    return fmt::format("{} has no {}: what it can do is {}", to_string(spec.backend), to_string(spec.kind),
                       fmt::join(names, ", "));
  }
  const SdmaSpec& sdma = platform.gpu.sdma;
  if (const auto engines = engine_part(spec, sdma)) {
    const std::string reason = why_impossible_on_sdma(*engines, sdma, spec.gpus);
    if (!reason.empty()) return kernel_part(spec, sdma) ? "the part on copy engines cannot run: " + reason : reason;
  } else if (spec.prelaunch) {
    return "prelaunch is for SDMA: kernels have no queue of commands to hold back";
  }
  const std::optional<CollectiveSpec> kernels = kernel_part(spec, sdma);
  if (spec.algorithm) {
    const bool has_choice = kernels && kernels->backend == Backend::rccl && spec.kind != CollectiveKind::all_to_all;
    if (!has_choice) {
      return fmt::format(
          "{} by {} has no choice of algorithms: a ring, a tree or nvls is one of RCCL's and NCCL's kernels, "
          "and all but all_to_all have rings",
          to_string(spec.kind), to_string(spec.backend));
    }
    if (spec.algorithm == RcclAlgorithm::nvls) {
      if (std::string reason = why_no_nvls(*kernels, platform); !reason.empty()) return reason;
    }
    if (spec.algorithm == RcclAlgorithm::tree) {
      if (std::string reason = why_no_tree(*kernels, platform); !reason.empty()) return reason;
    }
  }
  if (!kernels) {
    if (!spec.channels) return {};
    return "channels are workgroups of a kernel, and this collective has none: only copy engines move its data";
  }
  if (spec.channels) {
    std::string reason = why_no_channels(*kernels, *spec.channels, platform);
    if (!reason.empty()) return reason;
  }
  const int xcds = platform.gpu.memory.xcds;
  if (spec.cus && (*spec.cus < xcds || *spec.cus > platform.gpu.cus() || *spec.cus % xcds != 0)) {
    return fmt::format("{} CUs cannot be had: a multiple of {}, one per XCD, from {} to {} is accepted", *spec.cus,
                       xcds, xcds, platform.gpu.cus());
  }
  return {};
}

CollectiveRun::CollectiveRun(Node& node, const CollectiveSpec& spec, const Stream& stream)
    : node_(node), kernels_(kernel_part(spec, node.spec().gpu.sdma)), stream_(stream) {
  if (spec.cus) stream_.mask = {0, *spec.cus / node.spec().gpu.memory.xcds};
  if (const auto engines = engine_part(spec, node.spec().gpu.sdma)) {
    engines_ = std::make_unique<SdmaCollective>(*engines, node.host(), node.copy_engines(),
                                                QueueUser{stream.operation, stream.follows});
  }
}

CollectiveRun::~CollectiveRun() = default;

sim::Task<> CollectiveRun::prepare() {
  if (engines_) co_await engines_->prepare();
}

sim::Task<> CollectiveRun::run() {
  if (kernels_) co_await run_kernel_collective(node_, *kernels_, stream_);
  if (!engines_) co_return;
  // Engines read and write each byte below the L2s.
  const double fills = 2.0 * (1.0 - node_.spec().gpu.sdma.cache_hits);
  StreamFill caches(node_, engines_->spec().first, std::min(engines_->spec().gpus, node_.simulated()), {0.0, fills});
  co_await engines_->run();
  caches.leave();
}

}  // namespace c3sim::models
