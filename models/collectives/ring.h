// Channels form rings over all GPUs, and data goes around them. In a mesh each ring has a link of every GPU for itself.
// The library's kernels use rings by default for all collectives except exchanges.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram ring(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
