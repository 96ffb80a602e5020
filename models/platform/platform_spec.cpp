#include "models/platform/platform_spec.h"

#include <algorithm>

namespace c3sim::models {

PlatformSpec PlatformSpec::read(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  return read(config, GemmKernelTables::read(config, config_folders));
}

PlatformSpec PlatformSpec::read(sim::Config& config, const GemmKernelTables& tables) {
  sim::Section root = config.root();
  PlatformSpec spec;
  spec.name = root.name("name");
  spec.gpus = static_cast<int>(root.integer("gpus", 2, 64));
  spec.fabric = FabricSpec::read(root.section("fabric"), spec.gpus);
  spec.host = HostSpec::read(root.section("host"));
  spec.gpu = GpuSpec::read(root.section("gpu"), spec.gpus, tables);
  spec.rccl = RcclSpec::read(root.section("rccl"), spec.gpu.cu);
  spec.shots = ShotSpec::read(root.section("shots"), spec.gpu.cu);
  spec.fitted_to = FittedRange::read(root);
  spec.correlations = CorrelationGroup::read(config);
  spec.concurrent_spread = ConcurrentSpread::read(root.section("concurrent_spread"));
  config.finish();
  spec.what_if = std::ranges::any_of(config.parameters_in_place(),
                                     [](const sim::Parameter* parameter) { return parameter->kind == "what_if"; });
  return spec;
}

}  // namespace c3sim::models
