// Platforms as they were read, for whoever asks more than one question: reading one takes longer than many an answer.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "study/run/platform_file.h"

namespace c3sim::study {

// Any thread may ask. What it gives is what read_platform() would: where a file has changed since, all is read again.
class PlatformShelf {
 public:
  static constexpr std::size_t most = 256;  // that are kept; beyond, it starts anew

  // As read_platform(), which throws for it.
  Platform read(const std::filesystem::path& file, std::span<const std::string> assignments,
                std::span<const std::filesystem::path> config_folders);

 private:
  // When each file that a platform was read from was last written.
  using Written = std::map<std::filesystem::path, std::filesystem::file_time_type>;
  struct Kept {
    Platform platform;
    Written written;
  };
  static Written written(const Platform& platform);

  std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<const Kept>> kept_;  // by file, assignments and folders
};

}  // namespace c3sim::study
