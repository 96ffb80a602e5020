#include "models/platform/platform_spec.h"

#include <algorithm>

namespace c3sim::models {

namespace {

std::vector<std::filesystem::path> folders_of_tables(const sim::Config& config,
                                                     std::span<const std::filesystem::path> config_folders) {
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path file : config.files()) {
    folders.push_back(file.parent_path());
    folders.push_back(file.parent_path().parent_path());
  }
  folders.insert(folders.end(), config_folders.begin(), config_folders.end());
  return folders;
}

}  // namespace

PlatformSpec PlatformSpec::read(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  sim::Section root = config.root();
  PlatformSpec spec;
  spec.name = root.name("name");
  spec.gpus = static_cast<int>(root.integer("gpus", 2, 64));
  spec.fabric = FabricSpec::read(root.section("fabric"), spec.gpus);
  spec.host = HostSpec::read(root.section("host"));
  spec.gpu = GpuSpec::read(root.section("gpu"), spec.gpus, folders_of_tables(config, config_folders));
  spec.rccl = RcclSpec::read(root.section("rccl"), spec.gpu.cu);
  spec.fitted_to = FittedRange::read(root);
  spec.correlations = CorrelationGroup::read(config);
  config.finish();
  const std::vector<sim::Parameter> parameters = config.parameters();
  spec.what_if = std::any_of(parameters.begin(), parameters.end(),
                             [](const sim::Parameter& parameter) { return parameter.kind == "what_if"; });
  return spec;
}

}  // namespace c3sim::models
