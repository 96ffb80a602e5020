// sha256() returns the SHA-256 of a text as 64 hexadecimal digits. Predictions are published with it before they are
// measured, and it tells whether a folder of results belongs to a study and is unchanged.
#pragma once

#include <string>
#include <string_view>

namespace c3sim::study {

std::string sha256(std::string_view text);

}  // namespace c3sim::study
