#include "study/config_folders.h"

#include <cstdlib>
#include <system_error>
#include <utility>

namespace c3sim::study {

std::vector<std::filesystem::path> config_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* const asked = std::getenv("C3SIM_CONFIGS"); asked != nullptr && *asked != '\0') {
    folders.emplace_back(asked);
  }
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    for (const char* const relative : {"../share/c3sim/configs", "configs"}) {
      std::filesystem::path folder = std::filesystem::weakly_canonical(program.parent_path() / relative, failed);
      if (!failed) folders.push_back(std::move(folder));
    }
  }
  folders.emplace_back("configs");
  return folders;
}

}  // namespace c3sim::study
