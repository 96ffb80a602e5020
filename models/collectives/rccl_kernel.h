// Collectives by kernels, as RCCL runs them: a kernel per GPU whose workgroups are channels. A channel moves its slice
// of the data once all GPUs have placed it; its protocol (rccl_plan.h) trades latency per step against bandwidth;
// received data passes through buffers, so more bytes move in the memories than over the links. Checks what it moved,
// as SDMA does.
#pragma once

#include "models/machine/stream.h"
#include "models/platform/collective_spec.h"
#include "sim/task.h"

namespace c3sim::models {

class Node;

// From the host's launch on every GPU until the host knows that all have finished.
sim::Task<> run_rccl_collective(Node& node, CollectiveSpec spec, Stream stream = {});

}  // namespace c3sim::models
