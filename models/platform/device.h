// A device is a GPU by its index, or the host.
#pragma once

namespace c3sim::models {

inline constexpr int host_device = -1;

}  // namespace c3sim::models
