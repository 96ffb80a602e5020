#include "sim/config/extents.h"

#include <charconv>
#include <system_error>

namespace c3sim::sim {

std::vector<std::int64_t> parse_extents(std::string_view text) {
  std::vector<std::int64_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t extent = 0;
    const auto [rest, error] = std::from_chars(at, end, extent);
    if (error != std::errc{} || extent < 1) return {};
    extents.push_back(extent);
    if (rest == end) return extents;
    if (*rest != 'x') return {};
    at = rest + 1;
  }
}

}  // namespace c3sim::sim
