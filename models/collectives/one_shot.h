// In one shot every GPU loads all that it needs from the others. An all-reduce moves the whole array from each peer:
// over n GPUs n/2 times as much as a ring, but it waits only once, which suits small arrays.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram one_shot(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
