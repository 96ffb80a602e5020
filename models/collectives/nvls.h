// NVLS is multicast and reduction in the switch: a GPU that loads a multicast address gets the sum over all GPUs, and a
// store there reaches all. NCCL's kernels do all-reduces over many GPUs behind NVSwitch so. Each GPU adds up a part of
// the array; its channels go round by round through three pipelined stages: own addends into buffers, sums out of the
// switch and back into it, results out of the buffers.
#pragma once

#include <string>

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

struct PlatformSpec;
struct NvlsSpec;
class Node;

// Returns why the collective cannot use NVLS, in one sentence that says what would be accepted; empty if it can.
std::string why_no_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
// Returns whether the library uses NVLS: if it is asked to, or if it may choose and its tuner expects less time.
bool takes_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
int nvls_channels(const CollectiveSpec& spec, const NvlsSpec& library);

// `spec` must be possible.
ChannelProgram nvls(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
