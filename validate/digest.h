// SHA-256 of a text, as 64 hexadecimal digits: what a prediction is published by before it is measured.
#pragma once

#include <string>
#include <string_view>

namespace c3sim::validate {

std::string sha256(std::string_view text);

}  // namespace c3sim::validate
