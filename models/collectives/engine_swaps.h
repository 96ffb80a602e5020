// This exchanges in place, with one swap per pair of GPUs that one of the two runs. Each GPU runs those with at most
// half of its peers, rounded up (DMA-Latte, arXiv 2511.06605: swap).
#pragma once

#include <vector>

#include "models/collectives/engine_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

std::vector<EngineProgram> engine_swaps(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

}  // namespace c3sim::models
