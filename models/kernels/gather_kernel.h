// A kernel that copies scattered blocks, a workgroup for each: what systems that serve models use for small ones. It
// loads from the host over PCIe, or stores to the host or to a peer, on the GPU that is an end of the copy.
#pragma once

#include "models/node.h"
#include "models/sdma/sdma_copy.h"

namespace c3sim::models {

// A call of the runtime, then workgroups that each keep so much under way (CopyCallsSpec::workgroup_in_flight) for as
// long as a load takes. The copy is possible, its submission `kernel`.
sim::Task<SdmaCopyPhases> run_gather_kernel(Node& node, SdmaCopySpec spec, Stream stream = {});

}  // namespace c3sim::models
