// A result file that is whole or absent: written apart and renamed into its place, so that a run killed at any moment
// leaves the old file or the new one. What is no file of a disk, such as a pipe or /dev/stdout, is written to as it is.
#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>

namespace c3sim::sim {

// What is written waits in a file without a name in the folder of `path`, which the operating system takes back however
// the process ends; commit() gives it its name. Two runs never share one, and the later commit wins. Destroyed
// uncommitted, it leaves an existing file as it was.
//
// Where a link stands at `path`, the file that it leads to is replaced; a replaced file keeps its mode and, where that
// is permitted, its owner. Pipes, terminals and other character devices, and the file that the process writes its own
// output to, get the text at once and stay what they are. Folders, disks, sockets and files without permission to write
// are refused. Failures are std::system_error and name the file and the reason.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  const std::filesystem::path& path() const { return path_; }
  // Hands everything written to the operating system. Call it once; nothing may be written afterwards.
  void commit();

 private:
  class DescriptorBuffer;
  void replace();

  std::filesystem::path path_;
  std::filesystem::path place_;  // where links lead; empty of what is written to as it is
  std::unique_ptr<DescriptorBuffer> buffer_;
  std::ostream stream_{nullptr};
};

// The whole of a small file in one call.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace c3sim::sim
