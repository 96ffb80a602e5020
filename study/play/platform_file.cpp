#include "study/play/platform_file.h"

#include <algorithm>
#include <utility>

#include "sim/config/nearest_name.h"
#include "study/program/operators.h"

namespace c3sim::study {

namespace {

void apply(const Beside& asked, models::PlatformSpec& spec) {
  spec.without = asked.without;
  if (asked.protocol) spec.host.protocol = *asked.protocol;
  if (asked.kernel_time) spec.host.kernel_time = true;
  if (asked.launch) spec.host = spec.host.launched(*asked.launch);
  spec.gpu.gemm.profiles = asked.profiles;
}

// Returns the sections that assignments change, or none if an assignment may also affect values outside its section.
std::vector<std::string_view> sections_of(std::span<const std::string> assignments) {
  std::vector<std::string_view> sections;
  for (const std::string& assignment : assignments) {
    const std::string_view section = models::PlatformSpec::section_of(assignment);
    if (section.empty()) return {};
    sections.push_back(section);
  }
  return sections;
}

models::PlatformSpec read_with(const Platform& platform, std::span<const std::string> assignments) {
  if (const std::vector<std::string_view> sections = sections_of(assignments); !sections.empty()) {
    try {
      sim::Config part = platform.config.part(sections);
      for (const std::string& assignment : assignments) part.set(assignment);
      models::PlatformSpec spec = platform.spec;
      spec.read_again(part, platform.kernels);
      return spec;
    } catch (const sim::ConfigError&) {  // reading the whole platform below gives the better message
    }
  }
  sim::Config config = platform.config;
  for (const std::string& assignment : assignments) config.set(assignment);
  models::PlatformSpec spec = models::PlatformSpec::read(config, platform.kernels);
  spec.correlations = platform.spec.correlations;
  return spec;
}

// Finds fault with operators that the platform has rates of and that no operators.yaml of the folders has.
void check_operators(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  sim::Section root = config.root();
  if (!root.holds_section("gpu") || !root.section("gpu").holds_section("operator_cycles")) return;
  sim::Section section = root.section("gpu").section("operator_cycles");
  std::vector<std::string> unknown = section.keys();
  std::vector<ElementwiseOperator> known;
  for (const std::filesystem::path& folder : config_folders) {
    if (unknown.empty()) return;
    for (ElementwiseOperator& one : read_operators({&folder, 1})) known.push_back(std::move(one));
    std::erase_if(unknown, [&](const std::string& name) { return find_operator(known, name) != nullptr; });
  }
  if (known.empty()) return;
  for (const std::string& name : unknown) {
    section.fault(name, "no operator of operators.yaml has this name" + operator_hint(known, name));
  }
}

}  // namespace

std::filesystem::path find_platform(const std::string& name_or_path, const std::string& where,
                                    std::span<const std::filesystem::path> config_folders) {
  if (models::is_platform_path(name_or_path)) return name_or_path;
  if (std::optional<std::filesystem::path> file = models::named_platform(name_or_path, config_folders)) return *file;
  const std::vector<std::string> known = platform_names(config_folders);
  std::string what = "no platform is named '" + name_or_path.substr(0, 80) + "'" + sim::name_hint(name_or_path, known) +
                     "; a file is accepted too, by a path with '/' or '.yaml' in it";
  if (known.empty()) what += "; no folder of platforms was found: set C3SIM_CONFIGS to the folder configs of c3sim";
  throw sim::ConfigError({{where, "", std::move(what)}});
}

Platform read_platform(const std::filesystem::path& file, const Settings& settings,
                       std::span<const std::filesystem::path> config_folders) {
  sim::Config unread = models::platform_config(file, config_folders);
  for (const sim::PlacedText& assignment : settings) unread.set(assignment);
  sim::Config config = unread;
  check_operators(config, config_folders);
  models::GemmKernelTables kernels = models::GemmKernelTables::read(config, config_folders);
  models::PlatformSpec spec = models::PlatformSpec::read(config, kernels);
  const std::vector<sim::Fault> faults = config.warnings();
  std::vector<std::string> warnings;
  warnings.reserve(faults.size());
  for (const sim::Fault& warning : faults) warnings.push_back(warning.where + ": " + warning.what);
  // Further assignments need neither correlations nor the ranges and sources of parameters.
  unread.leave_out("correlations");
  unread.keep_values_only();
  return {std::move(spec),     std::move(unread),
          config.parameters(), config.resolved(),
          std::move(warnings), {config_folders.begin(), config_folders.end()},
          std::move(kernels),  settings};
}

Platform beside(Platform platform, Beside asked) {
  models::PlatformSpec spec = platform.spec;
  apply(asked, spec);
  return {std::move(spec),
          std::move(platform.config),
          std::move(platform.parameters),
          std::move(platform.resolved),
          std::move(platform.warnings),
          std::move(platform.config_folders),
          std::move(platform.kernels),
          std::move(platform.settings),
          std::move(asked)};
}

models::PlatformSpec reassign(const Platform& platform, std::span<const std::string> assignments) {
  models::PlatformSpec spec = read_with(platform, assignments);
  spec.what_if = platform.spec.what_if || !assignments.empty();
  Beside asked = platform.asked;
  const auto sets_protocol = [](const std::string& assignment) { return assignment.starts_with("host.protocol="); };
  if (std::ranges::any_of(assignments, sets_protocol)) asked.protocol.reset();
  apply(asked, spec);
  return spec;
}

}  // namespace c3sim::study
