// Collectives by kernels: a kernel per GPU whose workgroups are channels. A channel moves its slice of the data once
// all GPUs have placed it, step by step as its algorithm lays it out (channel_program.h). Checks what it moved, as SDMA
// does.
#pragma once

#include "models/machine/stream.h"
#include "models/platform/collective_spec.h"
#include "sim/task.h"

namespace c3sim::models {

class Node;

// From the host's launch on every GPU until the host knows that all have finished.
sim::Task<> run_kernel_collective(Node& node, CollectiveSpec spec, Stream stream = {});

}  // namespace c3sim::models
