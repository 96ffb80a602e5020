// A ShotSpec describes one-shot and two-shot kernels: collectives whose workgroups load from all peers' memory at once.
#pragma once

#include "models/platform/cu_resources.h"
#include "sim/units.h"

namespace c3sim::models {

struct ShotSpec {
  int workgroups = 0;          // most workgroups of a kernel, unless it is asked for another number
  CuResources workgroup;       // resources that a workgroup needs on its CU
  sim::Bytes pass;             // bytes that a workgroup loads from a peer per pass of its loop: one load per lane
  sim::Time loop_latency{0};   // latency of a pass beyond the round trip to the peer and the peer's memory
  sim::Time flag_latency{0};   // time until every GPU has seen the flags of all others, which are set at the same time
  sim::Time fence_latency{0};  // time until others can load what was stored before
};

}  // namespace c3sim::models
