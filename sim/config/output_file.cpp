#include "sim/config/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace c3sim::sim {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::error_code error) {
  throw std::system_error(error, "cannot write " + path.string());
}

std::filesystem::path beside(const std::filesystem::path& path) {
  std::filesystem::path partial = path;
  partial += "." + std::to_string(getpid()) + ".partial";
  return partial;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), partial_(beside(path_)) {
  // A rename onto a folder fails too, but only after the whole run whose result it was to hold; one onto a device or a
  // pipe would put a file in its place.
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) fail(path_, std::make_error_code(std::errc::is_a_directory));
  if (std::filesystem::is_other(path_, ignored)) fail(path_, std::make_error_code(std::errc::not_supported));
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail(path_, std::error_code(errno, std::generic_category()));
}

OutputFile::~OutputFile() {
  if (partial_.empty()) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void OutputFile::commit() {
  stream_.close();
  // The stream keeps no reason for a write that failed earlier, hence the general error.
  if (!stream_) fail(path_, std::make_error_code(std::errc::io_error));
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) fail(path_, error);
  partial_.clear();
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.stream() << content;
  file.commit();
}

}  // namespace c3sim::sim
