#include "models/platform/interference.h"

namespace c3sim::models {

std::string_view to_string(Mechanism mechanism) {
  constexpr std::array<std::string_view, all_mechanisms.size()> names{
      "awake",          "cold", "undershoot",     "cu_loss", "dispatch_wait", "l2",
      "infinity_cache", "hbm",  "loaded_latency", "link",    "clock"};
  return names[static_cast<std::size_t>(mechanism)];
}

}  // namespace c3sim::models
