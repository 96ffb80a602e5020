// A word in which a kernel says how far it has come, for engines and other kernels to poll: triggers, fused operations
// and pipelines are made of it.
#pragma once

#include "models/machine/memory_word.h"
#include "models/machine/stream.h"
#include "sim/units.h"

namespace c3sim::models {

// For Stream::progress: adds to the word the workgroups that have retired on `gpu` since the last time, as atomics of
// theirs do, each `store` after it has retired. The word must outlive the kernel by that.
ProgressListener counted_in(MemoryWord& word, int gpu, sim::Time store);

}  // namespace c3sim::models
