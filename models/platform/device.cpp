#include "models/platform/device.h"

namespace c3sim::models {

std::string device_name(int device) { return device == host_device ? "host" : "gpu" + std::to_string(device); }

}  // namespace c3sim::models
