// One shot: every GPU loads what it needs of all others, and that is all. An all-reduce moves the whole array from each
// peer, twice what a ring of two GPUs does and more the more GPUs there are, but waits once: for small arrays.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram one_shot(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
