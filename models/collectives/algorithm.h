// The algorithms of collectives, each laid out in a file of its own as a program for channels of kernels or for copy
// engines. Here alone it is said which one a collective takes. One more is its file and its row here, beside its name
// in models/platform/collective_spec.h.
#pragma once

#include <vector>

#include "models/collectives/channel_program.h"
#include "models/collectives/engine_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

// What the kernels of a collective do, on CUs of the mask. `spec` must be possible and by kernels.
ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask);

// The steps of a collective on engines, one after the other: all-reduce is reduce-scatter and all-gather, every other
// is one step.
std::vector<CollectiveKind> sdma_steps(CollectiveKind kind);

// The programs of one step, in the order in which a thread submits them: GPU by GPU.
// A reduction is pulled: engines of the GPU that owns a chunk read the addends of its peers and add them to it, each
// beginning with another part of the chunk, so that no two add to the same bytes at once.
// `spec` must be possible. The array is padded to a multiple of the number of GPUs.
std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

}  // namespace c3sim::models
