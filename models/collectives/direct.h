// Direct exchange: each GPU sends to every other what that one is due. How the library's kernels do an all-to-all. As
// many channels as a peer has are idle: those of a GPU's part for itself.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram direct(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
