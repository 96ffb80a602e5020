// SHA-256 of a text or a file, as 64 hexadecimal digits: what a prediction is published by before it is measured, and
// what says that a folder of results belongs to a study.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace c3sim::study {

std::string sha256(std::string_view text);
// Returns the digest of all that can be read of a file, which may be larger than memory.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace c3sim::study
