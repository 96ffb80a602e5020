#include "models/platform/dispatch_spec.h"

#include <array>
#include <string_view>
#include <utility>

#include "models/platform/limits.h"

namespace c3sim::models {

DispatchSpec DispatchSpec::read(sim::Section section) {
  static constexpr std::array<std::pair<std::string_view, DispatchPolicy>, 2> policies{
      {{"oldest_first", DispatchPolicy::oldest_first}, {"rotation", DispatchPolicy::rotation}}};
  DispatchSpec spec;
  spec.policy = section.choice<DispatchPolicy>("policy", policies);
  spec.quantum = section.time("quantum", limits::latency);
  spec.workgroup_launch = section.time("workgroup_launch", limits::latency);
  return spec;
}

}  // namespace c3sim::models
