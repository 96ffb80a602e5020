// Work that goes on for seconds, so that power and clocks settle.
#pragma once

#include <chrono>
#include <vector>

#include "calibrate/measure/bench.h"

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

// After a rest, all these GPUs (none named: all) run it for so long: `batch` times without a break, then they
// wait for one another and for the pause. GpuError where the boards tell nothing.
Sustained sustain(Bench& bench, const Operation& operation, double seconds, int batch,
                  std::chrono::duration<double> pause = {}, const std::vector<int>& on = {});

// The same of GPUs that do nothing, for two rests.
Sustained sustain_rest(Bench& bench);

// So many runs that a batch takes some 50 ms, by what one takes.
int batch_of(Bench& bench, const Operation& operation, const std::vector<int>& on = {});

void rest(std::chrono::duration<double> time);

}  // namespace c3sim::measure
