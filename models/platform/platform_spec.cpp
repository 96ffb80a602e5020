#include "models/platform/platform_spec.h"

#include <algorithm>

namespace c3sim::models {

PlatformSpec PlatformSpec::read(sim::Config& config) {
  sim::Section root = config.root();
  PlatformSpec spec;
  spec.name = root.name("name");
  spec.gpus = static_cast<int>(root.integer("gpus", 2, 64));
  spec.fabric = FabricSpec::read(root.section("fabric"), spec.gpus);
  spec.host = HostSpec::read(root.section("host"));
  spec.gpu = GpuSpec::read(root.section("gpu"), spec.gpus);
  spec.rccl = RcclSpec::read(root.section("rccl"), spec.gpu.cu);
  spec.fitted_to = FittedRange::read(root);
  config.finish();
  const std::vector<sim::Parameter> parameters = config.parameters();
  spec.what_if = std::any_of(parameters.begin(), parameters.end(),
                             [](const sim::Parameter& parameter) { return parameter.kind == "what_if"; });
  return spec;
}

}  // namespace c3sim::models
