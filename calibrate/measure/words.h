// Spells and parses shapes, numbers and collectives, and has the texts that are built into the program.
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

// The parsers throw UserError that says what would be accepted.
GemmShape parse_shape(const std::string& text);
Collective parse_collective(const std::string& text);
std::int64_t parse_count(const std::string& text, std::int64_t least, std::int64_t most);
// Accepts a number of bytes, "134217728", or one with a unit, "128MiB".
std::int64_t parse_bytes(const std::string& text, std::int64_t least, std::int64_t most);

// Returns a number as tables have it, with three decimals.
std::string spelled(double value);

std::vector<std::string> split(const std::string& text, char at);

// Return kinds.txt, plan.txt and device/kernels.cu, which the build puts into the program.
const char* kinds_text();
const char* plan_text();
const char* kernel_source();
// Returns the entries "key: value" of kinds.txt or plan.txt. Lines that begin with a blank continue the value, those
// with # are comments.
std::vector<std::pair<std::string, std::string>> entries_of(const std::string& list);

}  // namespace c3sim::measure
