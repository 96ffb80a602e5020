#include "study/config_folders.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <system_error>
#include <utility>

#include "sim/config/config_error.h"

namespace c3sim::study {

namespace {

// Returns the file of this code: a library that another program has loaded, such as the Python module, or the program.
std::filesystem::path own_file(std::error_code& failed) {
  Dl_info about{};
  void* library = nullptr;
  const bool found = dladdr1(reinterpret_cast<const void*>(&config_folders), &about, &library, RTLD_DL_LINKMAP) != 0 &&
                     library != nullptr;
  const char* const name = found ? static_cast<const link_map*>(library)->l_name : "";  // empty for a program
  return *name != '\0' ? std::filesystem::path(name) : std::filesystem::read_symlink("/proc/self/exe", failed);
}

}  // namespace

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
  const std::filesystem::path own = own_file(failed);
  if (!failed) {
    for (const char* const relative :
         {"../share/c3sim/configs", "configs", "../../../../share/c3sim/configs", "../../configs"}) {
      std::filesystem::path folder = std::filesystem::weakly_canonical(own.parent_path() / relative, failed);
      if (!failed) folders.push_back(std::move(folder));
    }
  }
  folders.emplace_back("configs");
  return folders;
}

}  // namespace c3sim::study
