// In one shot every GPU loads all that it needs from the others. An all-reduce moves the whole array from each peer, n
// / 2 times what a ring of n GPUs does, but waits only once: it is for small arrays.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram one_shot(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
