#include "calibrate/measure/sustained.h"

#include <algorithm>
#include <mutex>
#include <numeric>
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
      if (bench_.gpu(gpu).board()) continue;
      throw GpuError(GpuError::Kind::unsupported, "the boards do not tell power and clock");
    }
    thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
  }

  // What was told from that moment until now; the times are left open.
  Sustained since(double begin_us) const {
    Sustained sustained{.all = mean_of({}, begin_us), .boards = {}};
    for (int gpu = 0; gpu < bench_.gpus(); ++gpu) sustained.boards.push_back(mean_of(gpu, begin_us));
    return sustained;
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
  BoardMean mean_of(std::optional<int> gpu, double begin_us) const {
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

}  // namespace

void rest(std::chrono::duration<double> time) { std::this_thread::sleep_for(time); }

Sustained sustain_rest(Bench& bench) {
  rest(bench.protocol().rest);
  const BoardWatch watch(bench);
  const double begin = host_microseconds();
  rest(bench.protocol().rest);
  return watch.since(begin);
}

Sustained sustain(Lab& lab, const Operation& operation, double seconds, const std::vector<int>& on,
                  std::optional<std::chrono::duration<double>> pause) {
  constexpr double micro = 1e6;
  constexpr double long_enough = 50e3;  // us: the breaks between batches do not count then
  constexpr double most = 5000.0;
  const double once = std::max(1.0, lab.time({operation}, on).all.median);
  const int batch = pause ? 1 : static_cast<int>(std::clamp(long_enough / once, 1.0, most));
  const double all_of_it = micro * lab.brevity() * seconds;
  const BoardWatch watch(lab);
  rest(lab.protocol().rest);
  const double start = host_microseconds();
  double half = 0.0;  // when the second half began
  int batches = 0;    // in it: one at least
  const auto goes_on = [&] {
    const double now = host_microseconds();
    if (half != 0.0 && now > start + all_of_it) return false;
    if (half == 0.0 && now > start + all_of_it / 2) half = now;
    if (half != 0.0) ++batches;
    return true;
  };
  std::vector<double> times(static_cast<std::size_t>(lab.gpus()));  // of the batches in the second half, by GPU
  lab.repeat(on, goes_on, [&](int number) {
    Gpu& gpu = lab.gpu(number);
    const Stream stream = lab.stream(number, operation.lane, operation.cus, operation.first_cu);
    const Event begin = lab.event(number, begin_event), end = lab.event(number, end_event);
    gpu.record(begin, stream);
    for (int i = 0; i < batch; ++i) operation.launch(number, stream);
    gpu.record(end, stream);
    lab.await(number, end);
    if (pause) rest(*pause);
    if (half != 0.0) times[static_cast<std::size_t>(number)] += gpu.microseconds(begin, end);
  });
  const double end = host_microseconds();
  const double runs = static_cast<double>(batches) * batch;
  const double running = on.empty() ? lab.gpus() : static_cast<double>(on.size());
  Sustained sustained = watch.since(half);
  sustained.time = std::accumulate(times.begin(), times.end(), 0.0) / runs / running;
  sustained.period = (end - half) / runs;
  return sustained;
}

}  // namespace c3sim::measure
