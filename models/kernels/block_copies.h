// A runtime copies scattered blocks (CopyCallsSpec) between pinned host memory and a GPU, or between two GPUs: by
// engines, or by a kernel that gathers them. With engines the thread spends time on each call. Copies in the order of a
// stream each begin when the one before has ended and its signal has arrived; those of one call that packs them are
// only set up one after the other. All blocks are simulated as one flow, which shares links, memories and the engine
// with other traffic.
#pragma once

#include "models/node.h"
#include "models/sdma/sdma_copy.h"

namespace c3sim::models {

// Returns the time from the end of a block to the first data of the next, within one engine.
sim::Time gap_between_blocks(const SdmaCopySpec& spec, const CopyCallsSpec& calls, const SdmaSpec& sdma);

// Makes the copies by engines. `engines` are those of all GPUs of the node, by index; the copy must be possible and not
// submitted as a kernel. Its control phase is the first call, schedule lasts until data moves, completion until the
// host knows.
sim::Task<SdmaCopyPhases> run_block_copies(Host& host, std::span<SdmaComplex* const> engines, const Fabric& fabric,
                                           SdmaCopySpec spec, std::uint32_t operation = 0);

// A gather kernel copies scattered blocks with a workgroup for each; serving systems use it for small blocks. It runs
// on a GPU that is an end of the copy, and loads from the host over PCIe, or stores to the host or to a peer.
// Runs a call of the runtime, then workgroups that each keep CopyCallsSpec::workgroup_in_flight under way for the
// latency of a load. The copy must be possible and its submission `kernel`.
sim::Task<SdmaCopyPhases> run_gather_kernel(Node& node, SdmaCopySpec spec, Stream stream = {});

}  // namespace c3sim::models
