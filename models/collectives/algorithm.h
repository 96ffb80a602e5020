// This chooses the algorithm of a collective. Each algorithm has a file that lays it out as a program for channels of
// kernels or for copy engines. A new one needs a file, a case in algorithm.cpp and a name in
// models/platform/collective_spec.h.
#pragma once

#include <vector>

#include "models/collectives/channel_program.h"
#include "models/collectives/engine_program.h"
#include "models/machine/cu_mask.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

class Node;

// Returns what the kernels of a collective do on CUs of the mask. `spec` must be possible and by kernels.
ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask);

// Returns the steps of a collective on engines: reduce-scatter and all-gather for an all-reduce, else the collective.
std::vector<CollectiveKind> sdma_steps(CollectiveKind kind);

// Returns the programs of one step of a possible `spec`, in the order in which a thread submits them: GPU by GPU. A
// reduction is pulled: engines of the GPU that owns a chunk read its peers' addends and add them, each beginning with
// another part, so that no two add to the same bytes at once. The array is padded to a multiple of the number of GPUs.
std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

}  // namespace c3sim::models
