// Where files are found that are read, and which of them a command has read, whoever in it read them: what it writes
// must be none of these.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// While it lives, every file that its thread reads as a configuration, as measurements or as requests is noted. One
// begun while another lives stands in for it.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  void add(const std::filesystem::path& file);
  const std::vector<std::filesystem::path>& files() const { return files_; }  // each once, by its spelling

 private:
  std::vector<std::filesystem::path> files_;
  FilesRead* before_;
};

// For whoever opens a file to read it.
void note_read(const std::filesystem::path& file);

// The file of that name ("platforms/mi300x.yaml") in the first of the folders that has one.
std::optional<std::filesystem::path> first_file(std::span<const std::filesystem::path> folders,
                                                const std::filesystem::path& name);
// The names of all files NAME.yaml that any of the folders has in a folder so called, each once, in their order.
std::vector<std::string> yaml_names(std::span<const std::filesystem::path> folders, std::string_view within);

}  // namespace c3sim::sim
