#include "study/sweep/ranks.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "sim/config/config_error.h"

namespace c3sim::study {

namespace {

namespace fs = std::filesystem;

// What Open MPI's mpirun, and srun with PMIx or PMI2, tell a process of how many they started.
std::string_view started_processes() {
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* const text = std::getenv(variable); text != nullptr) return text;
  }
  return "1";
}

// Beside the program, as in the build tree, or in the folder of libraries of an installation.
fs::path library_path() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& folder : {program, program / "../lib/c3sim"}) {
    fs::path library = folder / "c3sim_mpi.so";
    if (fs::exists(library, failed)) return library;
  }
  return {};
}

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (started_processes() == "1") return nullptr;
  const fs::path path = library_path();
  // Open MPI's own plug-ins look its symbols up among those of all.
  void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const join = library == nullptr ? nullptr : dlsym(library, "c3sim_join_ranks");
  if (join == nullptr) {
    const char* const reason = path.empty() ? nullptr : dlerror();
    throw sim::ConfigError({{"mpirun", "",
                             "several processes were started, and this c3sim has no c3sim_mpi.so, as it was "
                             "built without Open MPI (libopenmpi-dev) or is not installed with it: start one" +
                                 (reason == nullptr ? std::string() : std::string("; ") + reason)}});
  }
  return std::unique_ptr<Ranks>(reinterpret_cast<Ranks* (*)()>(join)());
}

}  // namespace c3sim::study
