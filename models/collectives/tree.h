// A tree is a chain inside one node: in an all-reduce sums go down to its first GPU and results come back up, chunk by
// chunk. A GPU in the middle sends the array twice; around a ring it sends 2 (n - 1) / n of it.
#pragma once

#include <string>

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;
struct PlatformSpec;

// Returns whether the library's kernels would take a tree rather than rings: it is asked for, or the library's tuner
// expects less time of it. takes_nvls() says whether NVLS is faster still.
bool takes_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Returns why there is no tree, in one sentence that says what would be accepted; empty if there is.
std::string why_no_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Returns the program; every GPU has the load of one in the middle of the chain.
ChannelProgram tree(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
