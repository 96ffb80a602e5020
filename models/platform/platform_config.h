// A platform file with all that it stands on: its base, the base of that, and the defaults of all platforms.
//
//   base: mi300x            # a platform by its name, or a file beside this one
//   name: mine
//   gpu:
//     power: {cap: {value: 600 W, source: my board, kind: measured}}
//
// says the one thing in which `mine` differs. platforms/defaults.yaml lies under every file: what-ifs, which no machine
// has, and what is true of collectives on any machine.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.h"

namespace c3sim::models {

// The file platforms/NAME.yaml of the first configuration folder that has one, and the names that there are, in
// alphabetical order. The defaults are no platform.
std::optional<std::filesystem::path> named_platform(const std::string& name,
                                                    std::span<const std::filesystem::path> config_folders);
std::vector<std::string> platform_names(std::span<const std::filesystem::path> config_folders);
// A text with a '/' or an ending of ".yaml" or ".yml" is a path; any other is a name.
bool is_platform_path(const std::string& text);

// Reads the file and those under it, ready for Config::set and PlatformSpec::read. A base and the defaults are looked
// for in the configuration folders, then beside the file. Throws sim::ConfigError for a file that is no configuration,
// a base that is not found and a circle of bases.
sim::Config platform_config(const std::filesystem::path& file,
                            std::span<const std::filesystem::path> config_folders = {});
// The same with another text in place of the file's.
sim::Config platform_config(std::string_view text, const std::filesystem::path& file,
                            std::span<const std::filesystem::path> config_folders = {});

}  // namespace c3sim::models
