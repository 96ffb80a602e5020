#include "study/report/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "sim/config/config_error.h"

namespace c3sim::study {

FolderLock::FolderLock(const std::filesystem::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0 || ::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(folder_);
  throw sim::ConfigError({{folder.string(), "", taken}});
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

bool FolderLock::is_taken(const std::filesystem::path& folder) {
  try {
    const FolderLock lock(folder);
    return false;
  } catch (const sim::ConfigError&) {
    return true;
  }
}

}  // namespace c3sim::study
