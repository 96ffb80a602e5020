#include "models/platform/platform_config.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "sim/config/config_text.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {
namespace {

namespace fs = std::filesystem;

constexpr auto defaults_name = "defaults";
using Folders = std::span<const fs::path>;

bool is_file(const fs::path& path) {
  std::error_code absent;
  return fs::is_regular_file(path, absent);
}

std::string file_name(std::string_view name) { return std::string(name) + ".yaml"; }

// Returns platforms/NAME.yaml of the first folder that has it.
std::optional<fs::path> named_file(std::string_view name, Folders config_folders) {
  return sim::first_file(config_folders, fs::path("platforms") / file_name(name));
}

fs::path base_file(const sim::PlacedText& base, const fs::path& file, Folders config_folders) {
  fs::path beside = file.parent_path() / (is_platform_path(base.text) ? base.text : file_name(base.text));
  if (is_platform_path(base.text)) return beside;
  if (std::optional<fs::path> named = named_platform(base.text, config_folders)) return *named;
  if (sim::is_name(base.text) && is_file(beside)) return beside;
  throw sim::ConfigError({{base.place, "base",
                           "no platform is named '" + base.text.substr(0, 80) + "'" +
                               sim::name_hint(base.text, platform_names(config_folders)) +
                               "; a file beside this one is accepted too, by a path with '/' or '.yaml' in it"}});
}

// Merges the configuration over its bases. `above` are the files that extend it and cannot be its bases.
sim::Config over_bases(sim::Config config, const fs::path& file, Folders config_folders, std::vector<fs::path> above) {
  std::error_code absent;
  above.push_back(fs::weakly_canonical(file, absent));
  const sim::PlacedText base = config.take_base("base");
  if (base.text.empty()) return config;
  const fs::path under = base_file(base, file, config_folders);
  if (std::ranges::find(above, fs::weakly_canonical(under, absent)) != above.end()) {
    throw sim::ConfigError({{base.place, "base", under.string() + " stands on this file: bases go round in a circle"}});
  }
  if (!is_file(under)) throw sim::ConfigError({{base.place, "base", "there is no file " + under.string()}});
  config.stand_on(over_bases(sim::Config::from_file(under, sim::Sources::required), under, config_folders, above));
  return config;
}

sim::Config over_all(sim::Config config, const fs::path& file, Folders config_folders) {
  config = over_bases(std::move(config), file, config_folders, {});
  const fs::path beside = file.parent_path() / file_name(defaults_name);
  const fs::path defaults = named_file(defaults_name, config_folders).value_or(beside);
  if (is_file(defaults)) config.stand_on(sim::Config::from_file(defaults, sim::Sources::required));
  return config;
}

}  // namespace

std::optional<fs::path> named_platform(const std::string& name, Folders config_folders) {
  if (!sim::is_name(name) || name == defaults_name) return {};
  return named_file(name, config_folders);
}

std::vector<std::string> platform_names(Folders config_folders) {
  std::vector<std::string> names = sim::yaml_names(config_folders, "platforms");
  std::erase(names, defaults_name);
  return names;
}

bool is_platform_path(const std::string& text) {
  const fs::path path(text);
  return text.find('/') != std::string::npos || path.extension() == ".yaml" || path.extension() == ".yml";
}

sim::Config platform_config(const fs::path& file, Folders config_folders) {
  return over_all(sim::Config::from_file(file, sim::Sources::required), file, config_folders);
}

sim::Config platform_config(std::string_view text, const fs::path& file, Folders config_folders) {
  return over_all(sim::Config::from_text(text, file.string(), sim::Sources::required), file, config_folders);
}

}  // namespace c3sim::models
