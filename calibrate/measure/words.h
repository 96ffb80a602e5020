// Shapes, sizes and collectives as tables and options spell them, and the texts that the program carries with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

std::string to_string(GemmShape shape);  // "8192x57344x8192"
std::string_view to_string(Collective collective);

// UserError says what would be accepted.
GemmShape parse_shape(const std::string& text);
Collective parse_collective(const std::string& text);
std::int64_t parse_count(const std::string& text, std::int64_t least, std::int64_t most);

// A number as tables have it: to three places.
std::string spelled(double value);

std::vector<std::string> split(const std::string& text, char at);

// kinds.txt, plan.txt and device/kernels.cu, as the build puts them into the program.
const char* kinds_text();
const char* plan_text();
const char* kernel_source();
// The entries "key: value" of such a list. Lines that begin with a blank go on with the value, those with # are
// comments.
std::vector<std::pair<std::string, std::string>> entries_of(const std::string& list);

}  // namespace c3sim::measure
