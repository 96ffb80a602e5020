// This queues all copies of a GPU back to back on the engines that it is given (DMA-Latte, arXiv 2511.06605: b2b).
#pragma once

#include <vector>

#include "models/collectives/engine_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

std::vector<EngineProgram> engine_back_to_back(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma);

}  // namespace c3sim::models
