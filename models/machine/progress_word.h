// A kernel counts its progress in a word that engines and other kernels poll, as in fused operations and pipelines.
#pragma once

#include "models/machine/memory_word.h"
#include "models/machine/stream.h"
#include "sim/units.h"

namespace c3sim::models {

// Returns a listener for Stream::progress. It adds to the word the workgroups that have retired on `gpu`, `store` after
// they have retired, as their atomics would. The word must outlive the kernel by `store`.
ProgressListener counted_in(MemoryWord& word, int gpu, sim::Time store);

}  // namespace c3sim::models
