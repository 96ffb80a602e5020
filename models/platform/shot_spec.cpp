#include "models/platform/shot_spec.h"

#include "models/platform/collective_spec.h"
#include "models/platform/limits.h"

namespace c3sim::models {

ShotSpec ShotSpec::read(sim::Section section, const CuResources& cu) {
  ShotSpec spec;
  spec.workgroups = static_cast<int>(section.integer("workgroups", 1, most_channels));
  spec.workgroup = CuResources::read(section);
  check_fits(section, spec.workgroup, cu);
  spec.pass = section.quantity("pass", limits::capacity);
  spec.loop_latency = section.time("loop_latency", limits::latency);
  spec.flag_latency = section.time("flag_latency", limits::latency);
  spec.fence_latency = section.time("fence_latency", limits::latency);
  return spec;
}

}  // namespace c3sim::models
