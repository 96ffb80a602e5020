// Which files a command has read, whoever in it read them: what it writes must be none of these.
#pragma once

#include <filesystem>
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

}  // namespace c3sim::sim
