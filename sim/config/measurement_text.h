// Reads the text of a file of measurements, plain or compressed by gzip. A file that is not text is refused with a
// sentence that says what it is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct gzFile_s;

namespace c3sim::sim {

inline constexpr std::size_t largest_measurement_text = std::size_t{1} << 30;

// Opens the file once, so that a pipe works, too. Throws ConfigError for what MeasurementStream refuses, and if the
// text is larger than 1 GiB or than the free memory.
std::string read_measurement_text(const std::filesystem::path& path);

// Reads a text piece by piece that nobody needs as a whole, such as a trace of millions of events: the bytes of the
// file themselves or, if they begin as gzip does, what all its gzip members unpack to.
class MeasurementStream {
 public:
  static constexpr std::size_t largest = std::size_t{8} << 30;

  // Throws ConfigError if the file cannot be read, is a folder or has more than `most` bytes.
  explicit MeasurementStream(const std::filesystem::path& path, std::size_t most = largest);

  // Returns the next piece of the text, valid until the next call; empty after the end. Throws ConfigError for gzip
  // that is cut off or damaged, for a text of more than `most` bytes, and for known formats that are not text: UTF-16,
  // zip (and so .xlsx), xz, zstd and bzip2.
  std::string_view next();

 private:
  std::string name_;
  std::size_t most_;
  std::size_t size_ = 0;  // bytes returned so far
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  std::string block_ = std::string(std::size_t{1} << 18, '\0');
};

}  // namespace c3sim::sim
