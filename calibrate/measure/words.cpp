#include "calibrate/measure/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

namespace {

// The names are in the order of the enumeration.
constexpr std::array<std::string_view, 5> collectives{"all_gather", "all_to_all", "all_reduce", "reduce_scatter",
                                                      "broadcast"};

constexpr std::int64_t longest_edge = 1 << 20;

}  // namespace

std::string to_string(GemmShape shape) { return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k); }

std::string_view to_string(Collective collective) { return collectives[static_cast<std::size_t>(collective)]; }

GemmShape parse_shape(const std::string& text) {
  const std::vector<std::string> parts = split(text, 'x');
  if (parts.size() != 3) throw UserError("'{}' is no shape: MxNxK such as 8192x57344x8192 is accepted", text);
  try {
    return {parse_count(parts[0], 1, longest_edge), parse_count(parts[1], 1, longest_edge),
            parse_count(parts[2], 1, longest_edge)};
  } catch (const UserError& fault) {
    throw UserError("'{}' is no shape: {}", text, fault.what());
  }
}

Collective parse_collective(const std::string& text) {
  const auto found = std::ranges::find(collectives, text);
  if (found != collectives.end()) return static_cast<Collective>(found - collectives.begin());
  throw UserError("'{}' is no collective: {} are accepted", text, fmt::join(collectives, ", "));
}

std::int64_t parse_count(const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw UserError("'{}': whole numbers from {} to {} are accepted", text, least, most);
  }
  return value;
}

std::int64_t parse_bytes(const std::string& text, std::int64_t least, std::int64_t most) {
  constexpr std::array<std::string_view, 3> units{"KiB", "MiB", "GiB"};
  const auto unit = std::ranges::find_if(units, [&text](std::string_view known) { return text.ends_with(known); });
  const auto shift = unit == units.end() ? 0 : 10 * (unit - units.begin() + 1);
  const std::string count = shift == 0 ? text : text.substr(0, text.size() - unit->size());
  try {
    return parse_count(std::to_string(parse_count(count, 0, most >> shift) << shift), least, most);
  } catch (const UserError&) {
    throw UserError("'{}': {} to {} bytes are accepted, as a whole number with KiB, MiB, GiB or no unit", text, least,
                    most);
  }
}

std::string spelled(double value) { return fmt::format("{:.3f}", value); }

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == at) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

std::vector<std::pair<std::string, std::string>> entries_of(const std::string& list) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string& line : split(list, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin > 0) {
      entries.back().second += " " + line.substr(begin);
    } else {
      const std::size_t colon = line.find(':');
      entries.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
    }
  }
  return entries;
}

}  // namespace c3sim::measure
