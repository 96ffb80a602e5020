// The library's kernels for collectives: around rings, along a tree or through the switch (NVLS), and exchanges
// directly. All share the choice of a protocol and what a byte of payload needs of the machine. The library takes the
// fastest protocol: for rings and trees by its own tuner's constants, if known, else by the model of an idle node at
// the highest clock, so that protocols give way to each other where they are equally fast.
#pragma once

#include <string>

#include "models/collectives/channel_program.h"
#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;
struct PlatformSpec;
struct NvlsSpec;

// Returns the bytes that `from` sends to `to` over the whole collective, whatever its channels and protocol.
sim::Bytes payload_between(const CollectiveSpec& spec, int from, int to);

// Returns whether the library's kernels would take a tree rather than rings: it is asked for, or the library's tuner
// expects less time of it. takes_nvls() says whether NVLS is faster still.
bool takes_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Returns why there is no tree, in one sentence that says what would be accepted; empty if there is.
std::string why_no_tree(const CollectiveSpec& spec, const PlatformSpec& platform);

// Returns why the collective cannot use NVLS, in one sentence that says what would be accepted; empty if it can.
std::string why_no_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
// Returns whether the library uses NVLS: if it is asked to, or if it may choose and its tuner expects less time.
bool takes_nvls(const CollectiveSpec& spec, const PlatformSpec& platform);
int nvls_channels(const CollectiveSpec& spec, const NvlsSpec& library);

// Returns the program of `spec`, which must be possible, on CUs of the mask.
ChannelProgram rccl_program(Node& node, const CollectiveSpec& spec, const CuMask& mask);

}  // namespace c3sim::models
