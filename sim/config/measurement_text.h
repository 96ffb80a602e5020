// The text of a file of measurements, however it lies on the disk: plain, or compressed by gzip. What is no text is
// refused with a sentence that says what it is.
#pragma once

#include <cstddef>
#include <filesystem>
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

}  // namespace c3sim::sim
