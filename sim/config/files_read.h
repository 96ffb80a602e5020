// Finds the files to read and records which ones a command has read, in whatever part of it, so that no output
// overwrites an input.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// While a FilesRead lives, it collects every configuration, measurement or request file that its thread reads. If
// several live, only the newest collects.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  void add(const std::filesystem::path& file) {
    if (std::ranges::find(files_, file) == files_.end()) files_.push_back(file);
  }
  const std::vector<std::filesystem::path>& files() const { return files_; }  // each file once, by its spelling

 private:
  std::vector<std::filesystem::path> files_;
  FilesRead* before_;
};

// Records a file in the FilesRead of this thread, if there is one. Whoever opens a file to read it calls note_read().
void note_read(const std::filesystem::path& file);

// Returns the path of the file `name` ("platforms/mi300x.yaml") in the first folder that has it.
std::optional<std::filesystem::path> first_file(std::span<const std::filesystem::path> folders,
                                                const std::filesystem::path& name);
// Returns the names NAME of all files NAME.yaml in the subfolder `within` of any of the folders, each once, sorted.
std::vector<std::string> yaml_names(std::span<const std::filesystem::path> folders, std::string_view within);

}  // namespace c3sim::sim
