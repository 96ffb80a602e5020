// Finds and reads platform files, by path or by name in the folders of platforms, and profiles of GEMMs that replace
// the estimates of a platform.
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

// Beside holds what a question changes about a platform in addition to its file and assignments.
struct Beside {
  models::Mechanisms without = {};
  std::optional<models::Protocol> protocol = {};   // replaces that of the file
  bool kernel_time = false;                        // whether times are kernel times, as a profiler reports them
  std::optional<models::LaunchMode> launch = {};   // replaces the file's launch costs, those of a plain program
  std::vector<models::GemmProfile> profiles = {};  // replace estimates of their GEMMs
};

// Settings are assignments to parameters, made one after the other. Assignments without a place are those of --set.
struct Settings : std::vector<sim::PlacedText> {
  using vector::vector;
  Settings(const std::vector<std::string>& assignments) : vector(assignments.begin(), assignments.end()) {}
};

// A Platform is a platform as asked for, with all that a question may want to report about it.
struct Platform {
  models::PlatformSpec spec;  // only beside() changes it: reassign() makes it anew and would lose other changes
  sim::Config config;         // unread, for further assignments; without correlations and sources
  std::vector<sim::Parameter> parameters;  // values as read, with assignments
  std::string resolved;                    // the file and all that it builds on as one file, with assignments
  std::vector<std::string> warnings;       // assignments outside the range of their parameter
  std::vector<std::filesystem::path> config_folders;  // the folders used to read it
  models::GemmKernelTables kernels;                   // the tables of its libraries' kernels
  Settings settings;                                  // the assignments used to read it
  std::string title;  // its name, with the file where that has another name, as one that a fit wrote
  Beside asked = {};
};

// A text with a '/' or with the ending ".yaml" or ".yml" is a path. Any other text is a name: the function returns the
// first NAME.yaml in the folders "platforms" of `config_folders`. Throws sim::ConfigError with the place `where` and
// the nearest known name.
std::filesystem::path find_platform(const std::string& name_or_path, const std::string& where,
                                    std::span<const std::filesystem::path> config_folders);

using models::platform_names;

// Reads a platform file and the files it builds on (models/platform/platform_config.h), with assignments. Throws
// sim::ConfigError with all faults.
Platform read_platform(const std::filesystem::path& file, const Settings& settings,
                       std::span<const std::filesystem::path> config_folders = {});

// Returns the platform with `asked` applied.
Platform beside(Platform platform, Beside asked);

// Returns the specification of the platform, with its `asked`, after further assignments, which come last. Reads no
// file. Throws sim::ConfigError if an assignment or the resulting platform is at fault.
models::PlatformSpec reassign(const Platform& platform, std::span<const std::string> assignments);

// Reads profiles of kernels that had a GPU to themselves, each with the kernel's time and the bytes read and written at
// each level:
//
//   profiles:
//     - gemm: 8192x8192x8192
//       time: 1650 us
//       l2: 14 GB
//       infinity_cache: 2.1 GB
//       hbm: 0.9 GB
//       source: rocprofv3, ROCm 6.4
//
// Finds for each profile the matrix efficiency at which the kernel, simulated alone on the platform, takes its time.
// Throws sim::ConfigError with all faults: missing levels, fewer bytes than the product must move, more bytes at a
// level than at the previous one, a time in which the platform could not move the bytes or do the work.
std::vector<models::GemmProfile> read_gemm_profiles(sim::Config config, const models::PlatformSpec& platform);

}  // namespace c3sim::study
