#include "calibrate/measure/sustained.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

constexpr int begin_event = 1, end_event = 2;

// Board power and clock while something runs: samples of all GPUs from a thread of its own.
class BoardWatch {
 public:
  explicit BoardWatch(Bench& bench) : bench_(bench) {
    for (int gpu = 0; gpu < bench_.gpus(); ++gpu) {
      if (!bench_.gpu(gpu).board()) {
        throw GpuError(GpuError::Kind::unsupported, "the boards do not tell power and clock");
      }
    }
    thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
  }

  // What was told from that moment until now.
  void tell(Sustained& sustained, double begin_us) const {
    sustained.all = since(begin_us, {});
    for (int gpu = 0; gpu < bench_.gpus(); ++gpu) sustained.boards.push_back(since(begin_us, gpu));
  }

 private:
  struct Sample {
    double time;
    int gpu;
    BoardState state;
  };

  void watch(const std::stop_token& end) {
    constexpr std::chrono::milliseconds period{20};
    while (!end.stop_requested()) {
      for (int gpu = 0; gpu < bench_.gpus(); ++gpu) {
        const std::optional<BoardState> state = bench_.gpu(gpu).board();
        const std::lock_guard lock(mutex_);
        if (state) samples_.push_back({host_microseconds(), gpu, *state});
      }
      std::this_thread::sleep_for(period);
    }
  }
  BoardMean since(double begin_us, std::optional<int> gpu) const {
    BoardMean mean;
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

  Bench& bench_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::jthread thread_;  // last: it looks at all of the above
};

struct Batches {
  double time = 0.0;  // of all counted ones
  int counted = 0;
};

}  // namespace

void rest(std::chrono::duration<double> time) { std::this_thread::sleep_for(time); }

int batch_of(Bench& bench, const Operation& operation, const std::vector<int>& on) {
  constexpr double long_enough = 50e3;  // us: the breaks between batches do not count then
  constexpr double most = 5000.0;
  const double once = std::max(1.0, bench.time({operation}, on).all.median);
  return static_cast<int>(std::clamp(long_enough / once, 1.0, most));
}

Sustained sustain_rest(Bench& bench) {
  rest(bench.protocol().rest);
  Sustained sustained;
  const BoardWatch watch(bench);
  const double begin = host_microseconds();
  rest(bench.protocol().rest);
  watch.tell(sustained, begin);
  return sustained;
}

Sustained sustain(Bench& bench, const Operation& operation, double seconds, int batch,
                  std::chrono::duration<double> pause, const std::vector<int>& on) {
  constexpr double micro = 1e6;
  const BoardWatch watch(bench);
  rest(bench.protocol().rest);
  const double start = host_microseconds();
  double half = 0.0;  // when the second half began
  const auto goes_on = [&] {
    const double now = host_microseconds();
    const bool over = half != 0.0 && now > start + micro * seconds;  // a batch of the second half at least
    if (half == 0.0 && now > start + micro * seconds / 2) half = now;
    return !over;
  };
  std::vector<Batches> all(static_cast<std::size_t>(bench.gpus()));
  bench.repeat(on, goes_on, [&](int number) {
    Gpu& gpu = bench.gpu(number);
    const Stream stream = bench.stream(number, operation.lane, operation.cus, operation.first_cu);
    const bool counts = half != 0.0;
    gpu.record(bench.event(number, begin_event), stream);
    for (int i = 0; i < batch; ++i) operation.launch(number, stream);
    gpu.record(bench.event(number, end_event), stream);
    bench.await(number, bench.event(number, end_event));
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    if (!counts) return;
    Batches& own = all[static_cast<std::size_t>(number)];
    own.time += gpu.microseconds(bench.event(number, begin_event), bench.event(number, end_event));
    ++own.counted;
  });
  const double end = host_microseconds();
  Sustained sustained;
  int gpus = 0, batches = 0;
  for (const Batches& own : all) {
    if (own.counted == 0) continue;
    sustained.time += own.time / own.counted / batch;
    batches = own.counted;
    ++gpus;
  }
  if (gpus > 0) {
    sustained.time /= gpus;
    sustained.period = (end - half) / batches / batch;
  }
  watch.tell(sustained, half);
  return sustained;
}

}  // namespace c3sim::measure
