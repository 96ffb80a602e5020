#include "study/config_folders.h"

#include <cstdlib>
#include <system_error>
#include <utility>

#include "sim/config/config_error.h"

namespace c3sim::study {

std::vector<std::filesystem::path> config_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code failed;
  if (const char* const asked = std::getenv("C3SIM_CONFIGS"); asked != nullptr && *asked != '\0') {
    folders.emplace_back(asked);
    if (!std::filesystem::is_directory(folders.back(), failed)) {
      const std::string why = failed ? failed.message() : "no folder";
      throw sim::ConfigError({{"C3SIM_CONFIGS", "",
                               "'" + folders.back().string() + "': " + why +
                                   ": the folder configs of c3sim, or one like it, is accepted"}});
    }
  }
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
