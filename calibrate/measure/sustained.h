// Work that goes on for seconds, so that power and clocks settle.
#pragma once

#include "calibrate/measure/bench.h"
#include "calibrate/measure/board_watch.h"

namespace c3sim::measure {

struct Sustained {
  double time = 0.0;    // of one run, in us: mean over GPUs in the second half
  double period = 0.0;  // from one to the next, pauses included
  double half = 0.0;    // when the second half began, by host_microseconds()
};

// After a rest, all these GPUs (none named: all) run it for so long: `batch` times without a break, then they
// wait for one another and for the pause.
Sustained sustain(Bench& bench, const Operation& operation, double seconds, int batch,
                  std::chrono::duration<double> pause = {}, const std::vector<int>& on = {});

// So many runs that a batch takes some 50 ms, by what one takes.
int batch_of(Bench& bench, const Operation& operation, const std::vector<int>& on = {});

void rest(std::chrono::duration<double> time);

}  // namespace c3sim::measure
