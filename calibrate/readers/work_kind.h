// What work on a GPU and calls of its runtime are, by their names in a profiler's trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Of kernels, and of copies and fills ("gpu_memcpy", "gpu_memset"); each name is looked at once.
class WorkKinds {
 public:
  struct Known {
    WorkKind kind = WorkKind::memory;
    std::string_view communicates{};  // of a collective: its class ("NCCL or RCCL"), good as long as this object
  };

  // With the names of configs/communication.yaml, of the first folder of configurations that has it. Throws
  // sim::ConfigError where none has, or where it cannot be read.
  WorkKinds();
  const Known& of(std::string_view category, const std::string& name);

 private:
  struct Class {
    std::string name;
    LogPattern kernels;
  };
  Known of_kernel(std::string_view name) const;

  std::optional<LogPattern> never_;
  std::vector<Class> classes_;
  std::unordered_map<std::string, Known> known_;
};

// Of CUDA and HIP; nothing of calls that neither wait nor make a stream wait.
std::optional<HostCallKind> kind_of_call(std::string_view name);

}  // namespace c3sim::calibrate
