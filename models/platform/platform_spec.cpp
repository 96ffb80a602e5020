#include "models/platform/platform_spec.h"

#include <algorithm>
#include <array>

namespace c3sim::models {

PlatformSpec PlatformSpec::read(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  return read(config, GemmKernelTables::read(config, config_folders));
}

PlatformSpec PlatformSpec::read(sim::Config& config, const GemmKernelTables& tables) {
  sim::Section root = config.root();
  PlatformSpec spec;
  spec.name = root.name("name");
  spec.gpus = static_cast<int>(root.integer("gpus", 1, 64));
  spec.read_sections(config, tables, true);
  spec.what_if = std::ranges::any_of(config.parameters_in_place(),
                                     [](const sim::Parameter* parameter) { return parameter->kind == "what_if"; });
  return spec;
}

void PlatformSpec::read_sections(sim::Config& config, const GemmKernelTables& tables, bool all) {
  sim::Section root = config.root();
  const auto is_due = [&](std::string_view key) { return all || root.has(key); };
  if (is_due("fabric")) fabric = FabricSpec::read(root.section("fabric"), gpus);
  if (is_due("host")) host = HostSpec::read(root.section("host"));
  if (is_due("gpu")) gpu.read(root.section("gpu"), gpus, tables, all);
  if (is_due("rccl")) rccl = RcclSpec::read(root.section("rccl"), gpu.cu);
  if (is_due("shots")) shots = ShotSpec::read(root.section("shots"), gpu.cu);
  if (is_due("fitted_to")) fitted_to = FittedRange::read(root);
  if (all) correlations = CorrelationGroup::read(config);
  if (is_due("concurrent_spread")) concurrent_spread = ConcurrentSpread::read(root.section("concurrent_spread"));
  if (root.has("unfitted_errors")) {
    // Nothing simulated depends on them: who tells of intervals finds them among the platform's parameters.
    sim::Section errors = root.section("unfitted_errors");
    for (const char* const work : {"alone", "beside", "steps"}) errors.number(work, 0.0, 10.0);
  }
  config.finish();
}

std::string_view PlatformSpec::section_of(std::string_view path) {
  constexpr std::array<std::string_view, 13> apart{
      "fabric",      "host",         "rccl",     "shots",         "fitted_to", "concurrent_spread", "gpu.memory",
      "gpu.streams", "gpu.dispatch", "gpu.gemm", "gpu.attention", "gpu.power", "gpu.sdma"};
  const auto* const section = std::ranges::find_if(apart, [path](std::string_view one) {
    return path.starts_with(one) && path.size() > one.size() && (path[one.size()] == '.' || path[one.size()] == '[');
  });
  return section == apart.end() ? std::string_view() : *section;
}

}  // namespace c3sim::models
