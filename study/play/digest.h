// SHA-256 of a text, as 64 hexadecimal digits: what a prediction is published by before it is measured, and what says
// that a folder of results belongs to a study.
#pragma once

#include <string>
#include <string_view>

namespace c3sim::study {

std::string sha256(std::string_view text);

}  // namespace c3sim::study
