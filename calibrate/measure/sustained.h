// Work that goes on for seconds, so that power and clocks settle.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "calibrate/measure/lab.h"

namespace c3sim::measure {

// What boards told in the second half.
struct BoardMean {
  BoardState state;
  std::size_t samples = 0;
};

struct Sustained {
  double time = 0.0;              // of one run, in us: mean over GPUs in the second half
  double period = 0.0;            // from one to the next, pauses included
  BoardMean all;                  // GPUs
  std::vector<BoardMean> boards;  // by GPU
};

// After a rest, all these GPUs (none named: all) run it for so long, at the lab's brevity: batches of some 50 ms
// without a break or, where there is a pause, one by one; then they wait for one another and for the pause. GpuError
// where the boards tell nothing.
Sustained sustain(Lab& lab, const Operation& operation, double seconds, const std::vector<int>& on = {},
                  std::optional<std::chrono::duration<double>> pause = {});

// The same of GPUs that do nothing, for two rests.
Sustained sustain_rest(Bench& bench);

void rest(std::chrono::duration<double> time);

}  // namespace c3sim::measure
