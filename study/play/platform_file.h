// Finds and reads platform files: by their path, or by their name in the folders of platforms that are searched.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/platform_spec.h"
#include "sim/config/config.h"

namespace c3sim::study {

// What is asked of a platform beside its file.
struct Beside {
  models::Mechanisms without = {};
  std::optional<models::Protocol> protocol = {};   // in place of the file's
  bool kernel_time = false;                        // what a profiler tells
  std::optional<models::LaunchMode> launch = {};   // what the file says of launches is of those of a program by itself
  std::vector<models::GemmProfile> profiles = {};  // of GEMMs
};

// A platform as asked for, with what the person who asked may want to see of it.
struct Platform {
  const models::PlatformSpec spec;         // const, as what beside() is not told of reassign() cannot know
  sim::Config config;                      // not yet read, for further assignments; no correlations, no sources
  std::vector<sim::Parameter> parameters;  // as read, assignments included
  std::string resolved;                    // one file of all that it stands on, with the assignments in it
  std::vector<std::string> warnings;       // assignments that leave the range of their parameter
  std::vector<std::filesystem::path> config_folders;  // it was read with
  models::GemmKernelTables kernels;                   // of its libraries, for all that is made of it
  std::vector<std::string> assignments;               // it was read with
  Beside asked = {};
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

// The platform with what is asked beside its file.
Platform beside(Platform platform, Beside asked);

// The same platform, what is asked beside its file included, with further assignments; these come last. No file is
// read. Throws sim::ConfigError where one of them, or the whole with them, is at fault.
models::PlatformSpec reassign(const Platform& platform, std::span<const std::string> assignments);

}  // namespace c3sim::study
