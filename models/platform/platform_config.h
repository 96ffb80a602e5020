// Reads a platform file with everything that it extends: its base, the base of that, and the defaults of all platforms.
//
//   base: mi300x            # a platform by its name, or a file next to this one
//   name: mine
//   gpu:
//     power: {cap: {value: 600 W, source: my board, kind: measured}}
//
// The file declares only what makes `mine` differ. Every file extends platforms/defaults.yaml, which has what-ifs that
// no machine has and what is true of collectives on any machine.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.h"

namespace c3sim::models {

// Return the file platforms/NAME.yaml of the first configuration folder that has it, and the names of all platforms in
// alphabetical order. The defaults are not a platform.
std::optional<std::filesystem::path> named_platform(const std::string& name,
                                                    std::span<const std::filesystem::path> config_folders);
std::vector<std::string> platform_names(std::span<const std::filesystem::path> config_folders);
// Returns whether the text is a path, which has a '/' or ends in ".yaml" or ".yml", and not a name.
bool is_platform_path(const std::string& text);

// Reads the file and those that it extends, ready for Config::set and PlatformSpec::read. A base and the defaults are
// searched in the configuration folders, then next to the file. Throws sim::ConfigError for an invalid file, a missing
// base and a circle of bases.
sim::Config platform_config(const std::filesystem::path& file,
                            std::span<const std::filesystem::path> config_folders = {});
// Reads `text` in place of the content of the file.
sim::Config platform_config(std::string_view text, const std::filesystem::path& file,
                            std::span<const std::filesystem::path> config_folders = {});

}  // namespace c3sim::models
