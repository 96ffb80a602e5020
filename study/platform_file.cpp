#include "study/platform_file.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "sim/config/config.h"
#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

bool is_path(const std::string& text) {
  const std::filesystem::path path(text);
  return text.find('/') != std::string::npos || path.extension() == ".yaml" || path.extension() == ".yml";
}

}  // namespace

std::filesystem::path find_platform(const std::string& name_or_path, const std::string& where,
                                    std::span<const std::filesystem::path> config_folders) {
  if (is_path(name_or_path)) return name_or_path;
  for (const std::filesystem::path& folder : config_folders) {
    std::filesystem::path file = folder / "platforms" / (name_or_path + ".yaml");
    std::error_code absent;
    if (sim::is_name(name_or_path) && std::filesystem::is_regular_file(file, absent)) return file;
  }
  const std::vector<std::string> known = platform_names(config_folders);
  std::string what = "no platform is named '" + name_or_path.substr(0, 80) + "'" + sim::name_hint(name_or_path, known) +
                     "; a file is accepted too, by a path with '/' or '.yaml' in it";
  if (known.empty()) what += "; no folder of platforms was found: set C3SIM_CONFIGS to the folder configs of c3sim";
  throw sim::ConfigError({{where, "", std::move(what)}});
}

std::vector<std::string> platform_names(std::span<const std::filesystem::path> config_folders) {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : config_folders) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "platforms", absent)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

Platform read_platform(const std::filesystem::path& file, std::span<const std::string> assignments) {
  sim::Config config = sim::Config::from_file(file, sim::Sources::required);
  for (const std::string& assignment : assignments) config.set(assignment);
  models::PlatformSpec spec = models::PlatformSpec::read(config);
  const std::vector<sim::Fault> faults = config.warnings();
  std::vector<std::string> warnings;
  warnings.reserve(faults.size());
  for (const sim::Fault& warning : faults) warnings.push_back(warning.where + ": " + warning.what);
  return {std::move(spec), config.parameters(), config.resolved(), std::move(warnings)};
}

models::PlatformSpec reassign(const Platform& platform, const std::string& assignment) {
  sim::Config config = sim::Config::from_text(platform.resolved, platform.spec.name, sim::Sources::required);
  config.set(assignment);
  models::PlatformSpec spec = models::PlatformSpec::read(config);
  spec.without = platform.spec.without;
  spec.gpu.gemm.profiles = platform.spec.gpu.gemm.profiles;
  return spec;
}

}  // namespace c3sim::study
