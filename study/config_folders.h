// Finds the folders of shipped configurations, which hold platforms/, formats/ and experiments/. No path is compiled
// in, so an installed program may be moved together with its share/.
#pragma once

#include <filesystem>
#include <vector>

namespace c3sim::study {

// Returns the folders in the order in which they are searched: $C3SIM_CONFIGS, which throws sim::ConfigError if it is
// no folder; those of the running program or Python module, which are share/c3sim/configs under its install prefix and
// configs/ next to it (a build tree links it there); and ./configs. The others need not exist. A program that embeds
// c3sim puts its own folders in front: CMake's find_package(c3sim) sets c3sim_CONFIGS_DIR.
std::vector<std::filesystem::path> config_folders();

}  // namespace c3sim::study
