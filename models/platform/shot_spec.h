// Kernels of one and of two shots: collectives whose workgroups load out of the memories of all peers at once.
#pragma once

#include "models/platform/cu_resources.h"
#include "sim/units.h"

namespace c3sim::models {

struct ShotSpec {
  int workgroups = 0;          // that a kernel has at most, unless it is asked to have others
  CuResources workgroup;       // what each needs of its CU
  sim::Bytes pass;             // that a workgroup loads from a peer in one pass of its loop: a load by each lane
  sim::Time loop_latency{0};   // of a pass beyond the way to the peer and back and the peer's memory
  sim::Time flag_latency{0};   // until every GPU has seen the flags of all others, set at the same time
  sim::Time fence_latency{0};  // until what was stored before can be loaded by others
};

}  // namespace c3sim::models
