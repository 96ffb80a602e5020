// A gather kernel copies scattered blocks with a workgroup for each; serving systems use it for small blocks. It runs
// on a GPU that is an end of the copy, and loads from the host over PCIe, or stores to the host or to a peer.
#pragma once

#include "models/node.h"
#include "models/sdma/sdma_copy.h"

namespace c3sim::models {

// Runs a call of the runtime, then workgroups that each keep CopyCallsSpec::workgroup_in_flight under way for the
// latency of a load. The copy must be possible and its submission `kernel`.
sim::Task<SdmaCopyPhases> run_gather_kernel(Node& node, SdmaCopySpec spec, Stream stream = {});

}  // namespace c3sim::models
