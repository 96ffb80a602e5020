// What work on a GPU and calls of its runtime are, by their names in a profiler's trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Of kernels, and of copies and fills ("gpu_memcpy", "gpu_memset"); each name is looked at once.
class WorkKinds {
 public:
  WorkKind of(std::string_view category, const std::string& name);

 private:
  std::unordered_map<std::string, WorkKind> known_;
};

// Of CUDA and HIP; nothing of calls that neither wait nor make a stream wait.
std::optional<HostCallKind> kind_of_call(std::string_view name);

}  // namespace c3sim::calibrate
