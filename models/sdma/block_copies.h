// Copies of scattered blocks as a runtime has engines make them (CopyCallsSpec): between the host, in pinned memory,
// and a GPU, or between two. The thread spends its time on each call. Of copies that a stream puts in order each begins
// when the one before has ended and its signal has come; those of one call that packs them are only set up one behind
// the other. Blocks that run alike are simulated as one flow, which shares links, memories and the engine with all
// others.
#pragma once

#include "models/sdma/sdma_copy.h"

namespace c3sim::models {

// From the end of a block to the data of the next, within one engine.
sim::Time gap_between_blocks(const SdmaCopySpec& spec, const CopyCallsSpec& calls, const SdmaSpec& sdma);

// `engines` are those of all GPUs of the node, by index; the copy is possible, and made in a way other than by a
// kernel. Control is the first call, schedule what follows until data moves, completion until the host knows.
sim::Task<SdmaCopyPhases> run_block_copies(Host& host, std::span<SdmaComplex* const> engines, const Fabric& fabric,
                                           SdmaCopySpec spec, std::uint32_t operation = 0);

}  // namespace c3sim::models
