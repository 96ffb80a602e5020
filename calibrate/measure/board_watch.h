// Board power and clock while something runs: samples of all GPUs from a thread of its own.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "calibrate/measure/bench.h"

namespace c3sim::measure {

class BoardWatch {
 public:
  // GpuError where the boards tell nothing.
  explicit BoardWatch(Bench& bench);
  ~BoardWatch();
  BoardWatch(const BoardWatch&) = delete;
  BoardWatch& operator=(const BoardWatch&) = delete;

  struct Mean {
    BoardState state;
    std::size_t samples = 0;
  };
  // Of all GPUs, or of one, from that moment until now.
  Mean since(double begin_us, std::optional<int> gpu = {}) const;

 private:
  struct Sample {
    double time;
    int gpu;
    BoardState state;
  };
  void watch();

  Bench& bench_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace c3sim::measure
