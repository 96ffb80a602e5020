// Reads the text of a file of measurements, plain or compressed by gzip. A file that is not text is refused with a
// sentence that says what it is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace c3sim::sim {

inline constexpr std::size_t largest_measurement_text = std::size_t{1} << 30;

// Opens the file once, so that a pipe works, too. Throws ConfigError if it cannot be read, is a folder, is not text, or
// is larger than 1 GiB or than the free memory.
std::string read_measurement_text(const std::filesystem::path& path);

// Returns the bytes themselves or, if they begin as gzip does, what all their gzip members unpack to. Throws
// ConfigError, with `name` for the file, for gzip that is cut off, damaged or unpacks to more than `most` bytes, and
// for known formats that are not text: UTF-16, zip (and so .xlsx), xz, zstd and bzip2.
std::string measurement_text_of(std::string bytes, std::string_view name, std::size_t most = largest_measurement_text);

// Reads a text piece by piece that nobody needs as a whole, such as a trace of millions of events.
class MeasurementStream {
 public:
  static constexpr std::size_t largest = std::size_t{8} << 30;

  // Opens the file as read_measurement_text() does. Throws ConfigError if it cannot be read or is a folder.
  explicit MeasurementStream(const std::filesystem::path& path);
  MeasurementStream(MeasurementStream&&) noexcept;
  ~MeasurementStream();

  // Returns the next piece of the text, valid until the next call; empty after the end. Throws ConfigError for what
  // read_measurement_text() refuses, and for a text larger than `largest`.
  std::string_view next();

 private:
  class Source;
  std::unique_ptr<Source> source_;
};

}  // namespace c3sim::sim
