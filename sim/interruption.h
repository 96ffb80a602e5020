// Asks whoever waits for an answer whether it is still wanted, for work that takes long and simulates little or nothing
// meanwhile. What is simulated asks by itself (sim/simulator.h).
#pragma once

namespace c3sim::sim {

// Calls what the Interruption of this thread asks, where there is one: what that throws ends the work.
void ask_interruption();
// Whether this thread has one.
bool is_interruptible();

}  // namespace c3sim::sim
