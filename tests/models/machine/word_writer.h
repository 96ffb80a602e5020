// A task of this file writes a word of memory at a given time; waiting for a word that nobody writes is a deadlock.
#pragma once

#include <string>

#include "models/machine/memory_word.h"
#include "sim/simulator.h"

namespace c3sim::models {

inline sim::Task<> write_at(sim::Simulator& simulator, MemoryWord& word, sim::Time at) {
  co_await simulator.delay(at);
  word.write(1);
}

// Returns what the deadlock says that the run ends in.
inline std::string deadlock_of(const auto& run) {
  try {
    run();
  } catch (const sim::Deadlock& deadlock) {
    return deadlock.what();
  }
  return "no deadlock";
}

}  // namespace c3sim::models
