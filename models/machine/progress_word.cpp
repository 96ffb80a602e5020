#include "models/machine/progress_word.h"

namespace c3sim::models {

ProgressListener counted_in(MemoryWord& word, int gpu, sim::Time store) {
  return [&word, gpu, store, counted = 0](const KernelProgress& progress) mutable {
    if (progress.gpu != gpu) return;
    const int more = progress.done - counted;
    counted = progress.done;
    sim::Simulator& simulator = word.simulator();
    simulator.schedule(simulator.now() + store, [&word, more] { word.add(more); });
  };
}

}  // namespace c3sim::models
