#include "calibrate/measure/board_watch.h"

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {
constexpr std::chrono::milliseconds period{20};
}

BoardWatch::BoardWatch(Bench& bench) : bench_(bench) {
  for (int gpu = 0; gpu < bench_.gpus(); ++gpu) {
    if (!bench_.gpu(gpu).board()) {
      throw GpuError(GpuError::Kind::unsupported, "the boards do not tell power and clock");
    }
  }
  thread_ = std::thread([this] { watch(); });
}

BoardWatch::~BoardWatch() {
  ending_ = true;
  thread_.join();
}

void BoardWatch::watch() {
  while (!ending_) {
    for (int gpu = 0; gpu < bench_.gpus(); ++gpu) {
      const std::optional<BoardState> state = bench_.gpu(gpu).board();
      const std::lock_guard lock(mutex_);
      if (state) samples_.push_back({host_microseconds(), gpu, *state});
    }
    std::this_thread::sleep_for(period);
  }
}

BoardWatch::Mean BoardWatch::since(double begin_us, std::optional<int> gpu) const {
  Mean mean;
  const auto add = [&](const BoardState& state) {
    mean.state.power += state.power;
    mean.state.clock += state.clock;
    ++mean.samples;
  };
  const std::lock_guard lock(mutex_);
  for (const Sample& sample : samples_) {
    if (sample.time >= begin_us && (!gpu || sample.gpu == *gpu)) add(sample.state);
  }
  if (mean.samples == 0) {  // it took less than a period: what is now is all there is
    if (const std::optional<BoardState> state = bench_.gpu(gpu.value_or(0)).board()) add(*state);
  }
  if (mean.samples == 0) throw GpuError(GpuError::Kind::failed, "the boards told no power and no clock meanwhile");
  mean.state.power /= static_cast<double>(mean.samples);
  mean.state.clock /= static_cast<double>(mean.samples);
  return mean;
}

}  // namespace c3sim::measure
