#include "models/platform/dispatch_spec.h"

#include "models/platform/limits.h"

namespace c3sim::models {

DispatchSpec DispatchSpec::read(sim::Section section) {
  DispatchSpec spec;
  spec.policy = section.choice<DispatchPolicy>("policy", sim::choices_of<DispatchPolicy>());
  spec.quantum = section.time("quantum", limits::latency);
  spec.workgroup_launch = section.time("workgroup_launch", limits::latency);
  spec.shader_engines = static_cast<int>(section.integer("shader_engines", 1, 64));
  return spec;
}

}  // namespace c3sim::models
