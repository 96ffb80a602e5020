// In two shots every GPU loads its part of the array from all others and adds up; once all have done so, it loads the
// others' sums. Such an all-reduce moves no more than a ring, and waits twice.
#pragma once

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

ChannelProgram two_shot(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
