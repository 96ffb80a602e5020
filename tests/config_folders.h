// The folders of the repository's own platforms and experiments.
#pragma once

#include <filesystem>
#include <vector>

namespace c3sim {

inline const std::vector<std::filesystem::path> folders{C3SIM_SOURCE_DIR "/configs"};

}  // namespace c3sim
