// Extents of arrays as people write them: "8192x57344x8192".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// Whole numbers from 1 on that stand in `text` with an x between each and the next; empty where it says anything else.
std::vector<std::int64_t> parse_extents(std::string_view text);

}  // namespace c3sim::sim
