#include "study/ask/platform_shelf.h"

#include <system_error>
#include <utility>

namespace c3sim::study {

// The files of the configuration, and every table of kernels where tables are looked for
// (models/platform/gemm_kernels.h).
PlatformShelf::Written PlatformShelf::written(const Platform& platform) {
  Written written;
  std::error_code absent;
  std::vector<std::filesystem::path> folders = platform.config_folders;
  for (const std::filesystem::path file : platform.config.files()) {
    written[file] = std::filesystem::last_write_time(file, absent);
    folders.push_back(file.parent_path());
    folders.push_back(file.parent_path().parent_path());
  }
  for (const std::filesystem::path& folder : folders) {
    for (const auto& table : std::filesystem::directory_iterator(folder / "kernels", absent)) {
      written[table.path()] = table.last_write_time(absent);
    }
  }
  return written;
}

Platform PlatformShelf::read(const std::filesystem::path& file, std::span<const std::string> assignments,
                             std::span<const std::filesystem::path> config_folders) {
  std::vector<std::string> key{std::filesystem::absolute(file).string()};
  key.insert(key.end(), assignments.begin(), assignments.end());
  for (const std::filesystem::path& folder : config_folders) key.push_back(std::filesystem::absolute(folder).string());
  std::shared_ptr<const Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(key); found != kept_.end()) kept = found->second;
  }
  if (kept != nullptr && written(kept->platform) == kept->written) return kept->platform;
  Platform platform = read_platform(file, assignments, config_folders);
  kept = std::make_shared<const Kept>(Kept{platform, written(platform)});
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= most) kept_.clear();
  kept_.insert_or_assign(std::move(key), std::move(kept));
  return platform;
}

}  // namespace c3sim::study
