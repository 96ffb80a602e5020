// This runs collectives by kernels: a kernel per GPU whose workgroups are channels. A channel moves its slice of the
// data once all GPUs have placed it, step by step as its algorithm lays it out (channel_program.h). Each run checks
// that it has delivered every byte.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/machine/stream.h"
#include "models/platform/collective_spec.h"
#include "sim/task.h"

namespace c3sim::models {

class Node;

// Returns what the kernels of a collective do on CUs of the mask. `spec` must be possible and by kernels.
ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask);

// Runs the collective from the host's launch on every GPU until the host knows that all have finished.
sim::Task<> run_kernel_collective(Node& node, CollectiveSpec spec, Stream stream = {});

}  // namespace c3sim::models
