// A result file that is whole or absent: written beside its place and renamed into it, so that a run killed at any
// moment leaves the old file or the new one.
#pragma once

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string_view>

namespace c3sim::sim {

// Writes go to "<path>.<process id>.partial" until commit() moves them to `path`; two runs never share a partial file,
// and the later commit wins. Destroyed uncommitted, it removes what it wrote and leaves an existing file as it was.
// Failures (a missing folder, a full disk, a path that is a folder, a device or a pipe) are std::system_error and name
// the file.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  const std::filesystem::path& path() const { return path_; }
  // Hands everything written to the operating system, then renames. Call it once; nothing may be written afterwards.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream stream_;
};

// The whole of a small file in one call.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace c3sim::sim
