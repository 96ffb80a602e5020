// Writes a result file that is whole or absent: a run killed at any moment leaves the old file or the new one. Pipes,
// terminals and /dev/stdout are written to directly.
#pragma once

#include <filesystem>
#include <ostream>
#include <sstream>
#include <string_view>

namespace c3sim::sim {

// An OutputFile collects its content in memory; commit() writes it beside `path` and gives it that name. Two runs never
// share a file, and the later commit wins. Without commit(), an existing file stays as it was.
//
// If `path` is a link, the file that it leads to is replaced. A replaced file keeps its mode and, if permitted, its
// owner. Pipes, terminals, other character devices and the file that the process writes its own output to are not
// replaced: commit() writes to them. Folders, block devices, sockets, and files and folders without write permission
// are refused at once. Failures throw std::system_error, which names the file and the reason.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  const std::filesystem::path& path() const { return path_; }
  // Hands everything written to the operating system. Call it once; nothing may be written afterwards.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path place_;  // the end of all links; empty if the target is written to directly
  int own_ = -1;                 // standard output or error, if it is the target
  std::ostringstream stream_;
};

// Writes the whole content of a file in one call.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace c3sim::sim
