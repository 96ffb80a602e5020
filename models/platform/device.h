// A device is a GPU, identified by its index, or the host.
#pragma once

#include <string>

namespace c3sim::models {

inline constexpr int host_device = -1;

// Returns "gpu0", or "host".
inline std::string device_name(int device) { return device == host_device ? "host" : "gpu" + std::to_string(device); }

}  // namespace c3sim::models
