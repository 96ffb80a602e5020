// All-reduce along a tree, which inside one node is a chain: sums go down to its first GPU, results come back up, chunk
// behind chunk. A GPU in its middle sends the array twice, where around a ring it sends 2 (n - 1) / n of it.
#pragma once

#include <string>

#include "models/collectives/channel_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;
struct PlatformSpec;

// Whether the library's kernels take a tree: because it is asked for, or because the library's tuner expects less time
// of it than of rings. Whether the switch is faster yet, nvls.h says.
bool takes_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Why there is none, in one sentence that says what would be accepted; empty if there is.
std::string why_no_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Every GPU stands for one in the middle of the chain.
ChannelProgram tree(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
