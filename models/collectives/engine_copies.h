// This makes concurrent copies, each on the engine recommended for its peer (DMA-Latte, arXiv 2511.06605: pcpy), or
// broadcasts to several peers each (bcst).
#pragma once

#include <vector>

#include "models/collectives/engine_program.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

// Lays out one copy for every `width` peers.
std::vector<EngineProgram> engine_copies(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma,
                                         int width);

}  // namespace c3sim::models
