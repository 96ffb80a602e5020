// Finds and reads platform files: by their path, or by their name in the folders of platforms that are searched.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/platform_spec.h"
#include "sim/config/config.h"

namespace c3sim::study {

// A platform as asked for, with what the person who asked may want to see of it.
struct Platform {
  models::PlatformSpec spec;
  sim::Config config;                                 // with the assignments, not yet read: copies take further ones
  std::vector<sim::Parameter> parameters;             // as read, assignments included
  std::string resolved;                               // one file of all that it stands on, with the assignments in it
  std::vector<std::string> warnings;                  // assignments that leave the range of their parameter
  std::vector<std::filesystem::path> config_folders;  // it was read with
};

// A text with a '/' or an ending of ".yaml" or ".yml" is a path; any other is a name, and NAME.yaml is looked for in
// the folder "platforms" of each configuration folder, the first that has it. Throws sim::ConfigError with `where` as
// the place of the fault and the nearest known name.
std::filesystem::path find_platform(const std::string& name_or_path, const std::string& where,
                                    std::span<const std::filesystem::path> config_folders);

using models::platform_names;

// Reads a platform file and what it stands on (models/platform/platform_config.h), with assignments such as
// "gpu.sdma.engines=32". Throws sim::ConfigError with all its faults.
Platform read_platform(const std::filesystem::path& file, std::span<const std::string> assignments,
                       std::span<const std::filesystem::path> config_folders = {});

// The same platform, what is in no file of it included, with further assignments. Throws sim::ConfigError where one of
// them, or the whole with them, is at fault.
models::PlatformSpec reassign(const Platform& platform, std::span<const std::string> assignments);

}  // namespace c3sim::study
