// A runtime has engines copy scattered blocks (CopyCallsSpec) between pinned host memory and a GPU, or between two
// GPUs. The thread spends time on each call. Copies in the order of a stream each begin when the one before has ended
// and its signal has arrived; those of one call that packs them are only set up one after the other. All blocks are
// simulated as one flow, which shares links, memories and the engine with other traffic.
#pragma once

#include "models/sdma/sdma_copy.h"

namespace c3sim::models {

// Returns the time from the end of a block to the first data of the next, within one engine.
sim::Time gap_between_blocks(const SdmaCopySpec& spec, const CopyCallsSpec& calls, const SdmaSpec& sdma);

// Makes the copies. `engines` are those of all GPUs of the node, by index; the copy must be possible and not submitted
// as a kernel. Its control phase is the first call, schedule lasts until data moves, completion until the host knows.
sim::Task<SdmaCopyPhases> run_block_copies(Host& host, std::span<SdmaComplex* const> engines, const Fabric& fabric,
                                           SdmaCopySpec spec, std::uint32_t operation = 0);

}  // namespace c3sim::models
