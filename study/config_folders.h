// Where the shipped configurations lie: a folder that holds platforms/, formats/ and experiments/. No path is compiled
// in, so an installed program may be moved together with its share/.
#pragma once

#include <filesystem>
#include <vector>

namespace c3sim::study {

// In the order in which they are searched: $C3SIM_CONFIGS, which throws sim::ConfigError where it is no folder; those
// that belong to the running program, or to the module of Python, which are share/c3sim/configs of the prefix that it
// is installed under and configs/ beside it (a build tree links it there); and ./configs. The others need not exist. A
// program that embeds c3sim puts its own folders in front: CMake's find_package(c3sim) sets c3sim_CONFIGS_DIR.
std::vector<std::filesystem::path> config_folders();

}  // namespace c3sim::study
