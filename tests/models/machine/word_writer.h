// A task of this file writes a word of memory at a given time.
#pragma once

#include "models/machine/memory_word.h"
#include "sim/simulator.h"

namespace c3sim::models {

inline sim::Task<> write_at(sim::Simulator& simulator, MemoryWord& word, sim::Time at) {
  co_await simulator.delay(at);
  word.write(1);
}

}  // namespace c3sim::models
