// Multicast and reduction in the switch (NVLS): a GPU that loads an address of all GPUs gets the sum, and what it
// stores there reaches all. How NCCL's kernels do all-reduces over many GPUs behind NVSwitch. Each GPU has a part of
// the array to add up; its channels go round by round through three stages, one round behind the other: own addends
// into buffers, sums out of the switch and back into it, results out of the buffers.
#pragma once

#include <string>

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

struct PlatformSpec;
struct NvlsSpec;
class Node;

// Why the collective cannot be done like that, in one sentence that says what would be accepted; empty if it can.
std::string why_no_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
// Whether the library does: where it is asked to, or where it is free and its tuner expects more of it than of rings.
bool takes_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
int nvls_channels(const CollectiveSpec& spec, const NvlsSpec& library);

// `spec` must be possible.
ChannelProgram nvls(Node& node, const CollectiveSpec& spec);

}  // namespace c3sim::models
