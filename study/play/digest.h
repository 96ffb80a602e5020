// sha256() returns the SHA-256 of a text, and sha256_of_file() that of a file, as 64 hexadecimal digits. Predictions
// are published with it before they are measured, and it tells whether a folder of results belongs to a study and is
// unchanged.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace c3sim::study {

std::string sha256(std::string_view text);
// Returns the digest of all that can be read of a file, which may be larger than memory.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace c3sim::study
