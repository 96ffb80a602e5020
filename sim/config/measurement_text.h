// The text of a file of measurements, however it lies on the disk: plain, or compressed by gzip. What is no text is
// refused with a sentence that says what it is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace c3sim::sim {

inline constexpr std::size_t largest_measurement_text = std::size_t{1} << 30;

// Opens the file once, so that a pipe is as good as a file. Throws ConfigError where it cannot be read, is a folder, no
// text, larger than 1 GiB or larger than the memory there is.
std::string read_measurement_text(const std::filesystem::path& path);

// What the bytes of a file say: themselves, or, where they begin as gzip does, what they unpack to, several members one
// behind the other. Throws ConfigError, with `name` for the file, for gzip that is cut off or damaged or unpacks to
// more than `most` bytes, and for what is known not to be text: UTF-16, zip (and so .xlsx), xz, zstd and bzip2.
std::string measurement_text_of(std::string bytes, std::string_view name, std::size_t most = largest_measurement_text);

// The text of a file of which nobody needs the whole at once, such as a trace of millions of events.
class MeasurementStream {
 public:
  static constexpr std::size_t largest = std::size_t{8} << 30;

  // Opens the file as read_measurement_text does. Throws ConfigError where it cannot be read or is a folder.
  explicit MeasurementStream(const std::filesystem::path& path);
  MeasurementStream(MeasurementStream&&) noexcept;
  ~MeasurementStream();

  // The next piece of the text, which is good until the next call; empty behind its end. Throws ConfigError for what
  // read_measurement_text refuses, and for a text larger than `largest`.
  std::string_view next();

 private:
  class Source;
  std::unique_ptr<Source> source_;
};

}  // namespace c3sim::sim
