// A device is a GPU by its index, or the host.
#pragma once

#include <string>

namespace c3sim::models {

inline constexpr int host_device = -1;

std::string device_name(int device);  // "gpu0", or "host"

}  // namespace c3sim::models
