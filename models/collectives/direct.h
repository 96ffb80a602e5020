// In a direct exchange each GPU sends every other its part; the library's kernels do an all-to-all so. The channels of
// a GPU's part for itself, as many as each peer has, are idle.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram direct(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
