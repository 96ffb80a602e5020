#include "calibrate/measure/lab.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::uint64_t seed_of_arrays = 1000;
constexpr int gemm_lane = 0, collective_lane = 1, hog_lane = 2, first_peer_lane = 101;
constexpr int first_lane_event = 100;

// As device/kernels.cu has it.
struct HogArguments {
  std::uint32_t what;
  const char* from;
  char* to;
  std::uint64_t words;
  const char* stop;
  std::uint64_t most_ticks;
};

constexpr std::size_t flag_bytes = 256;
constexpr std::size_t in_caches = std::size_t{24} << 20, beyond_caches = std::size_t{1} << 30;  // of an array

std::size_t elements(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

}  // namespace

Lab::Lab(std::vector<std::unique_ptr<Gpu>> gpus, Protocol protocol, Runtime& runtime, double brevity)
    : Bench(std::move(gpus), protocol),
      runtime_(runtime),
      brevity_(brevity),
      sources_(static_cast<std::size_t>(this->gpus())),
      destinations_(static_cast<std::size_t>(this->gpus())),
      flags_(static_cast<std::size_t>(this->gpus())),
      stays_(static_cast<std::size_t>(this->gpus())),
      kernels_(static_cast<std::size_t>(this->gpus())) {}

Lab::~Lab() {
  try {
    each([this](int gpu) {
      for (auto& [channels, members] : communicators_) members[static_cast<std::size_t>(gpu)].reset();
    });
    forget_gemms();
  } catch (const GpuError&) {  // the GPU is gone, and what it had with it
  }
}

// On the threads of their GPUs.
void Lab::forget_gemms() {
  each([this](int gpu) {
    for (auto& [key, prepared] : gemms_) prepared[static_cast<std::size_t>(gpu)] = {};
  });
  gemms_.clear();
  gemm_bytes_ = 0;
}

Operation Lab::gemm(GemmShape shape, std::optional<int> cus, Operands operands) {
  const GemmKey key(shape, cus.value_or(0), operands);
  if (!gemms_.contains(key)) {
    const std::size_t bytes =
        bytes_of_bfloat16 * (elements(shape.m, shape.k) + elements(shape.k, shape.n) + elements(shape.m, shape.n));
    if (gemm_bytes_ + bytes > this->gpu(0).device().memory / 4) forget_gemms();
    std::vector<Prepared> prepared(static_cast<std::size_t>(gpus()));
    each([&](int gpu) { prepared[static_cast<std::size_t>(gpu)] = prepare(gpu, shape, cus, operands); });
    gemms_[key] = std::move(prepared);
    gemm_bytes_ += bytes;
  }
  return {.launch = [this, key](int gpu,
                                Stream stream) { gemms_.at(key)[static_cast<std::size_t>(gpu)].gemm->launch(stream); },
          .lane = gemm_lane,
          .cus = cus,
          .hot = true};
}

Lab::Prepared Lab::prepare(int number, GemmShape shape, std::optional<int> cus, Operands operands) {
  Gpu& gpu = this->gpu(number);
  Prepared prepared;
  prepared.a = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.m, shape.k));
  prepared.b = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.k, shape.n));
  prepared.c = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.m, shape.n));
  const Stream stream = this->stream(number, gemm_lane);
  std::uint64_t seed = 1;
  for (const Memory* memory : {&prepared.a, &prepared.b}) {
    if (operands == Operands::normal) {
      fill_normal(number, *memory, seed++, stream);
    } else {
      gpu.fill(memory->at(), 0, memory->bytes(), stream);
    }
  }
  finish(number, stream);
  prepared.gemm = gpu.prepare_gemm(shape, {prepared.a.at(), prepared.b.at(), prepared.c.at()}, cus);
  return prepared;
}

Operation Lab::collective(Collective kind, std::size_t bytes, int channels) {
  made_once(communicators_, channels, [&] {
    std::vector<std::unique_ptr<Communicator>> members(static_cast<std::size_t>(gpus()));
    const GroupName group = runtime_.name_group();
    each([&](int gpu) { members[static_cast<std::size_t>(gpu)] = this->gpu(gpu).join(group, gpu, gpus(), channels); });
    return members;
  });
  reserve(bytes, bytes);
  return {.launch =
              [this, kind, bytes, channels](int gpu, Stream stream) {
                communicators_.at(channels)[static_cast<std::size_t>(gpu)]->launch(
                    kind, source(gpu, bytes), destination(gpu, bytes), bytes, stream);
              },
          .lane = collective_lane};
}

Operation Lab::copies(Collective kind, std::size_t bytes, bool in_a_row) {
  if (kind == Collective::all_reduce || kind == Collective::reduce_scatter) {
    throw GpuError(GpuError::Kind::unsupported, "copies alone make no {}", to_string(kind));
  }
  reserve(bytes, bytes);
  return {.launch = [this, kind, bytes, in_a_row](int gpu, Stream stream) { push(gpu, kind, bytes, stream, in_a_row); },
          .lane = collective_lane};
}

// To each peer on a stream of its own, or on this one.
void Lab::push(int number, Collective kind, std::size_t bytes, Stream stream, bool in_a_row) {
  const bool broadcast = kind == Collective::broadcast;
  if (broadcast && number != 0) return;
  const std::size_t part = broadcast ? bytes : bytes / static_cast<std::size_t>(gpus());
  const std::size_t own = broadcast ? 0 : part * static_cast<std::size_t>(number);
  const auto copy = [&](int i, Stream on) {
    const int peer = (number + 1 + i) % gpus();  // every GPU begins with another
    const std::size_t from = kind == Collective::all_to_all ? part * static_cast<std::size_t>(peer) : own;
    gpu(number).copy(destination(peer, bytes) + own, source(number, bytes) + from, part, on);
  };
  if (!in_a_row) return at_once(number, stream, first_peer_lane, gpus() - 1, copy);
  for (int i = 0; i < gpus() - 1; ++i) copy(i, stream);
}

void Lab::at_once(int number, Stream stream, int first_lane, int copies, const std::function<void(int, Stream)>& copy) {
  const Event fork = event(number, first_lane_event);
  gpu(number).record(fork, stream);
  for (int i = 0; i < copies; ++i) {
    const Stream lane = this->stream(number, first_lane + i);
    const Event joined = event(number, first_lane_event + 1 + i);
    gpu(number).wait(lane, fork);
    copy(i, lane);
    gpu(number).record(joined, lane);
    gpu(number).wait(stream, joined);
  }
}

Operation Lab::streaming(std::size_t bytes, int reads, int written, int passes) {
  constexpr std::size_t word = 16;  // bytes of a load
  constexpr int workgroups_per_cu = 8;
  const std::size_t array = bytes / static_cast<std::size_t>(reads + written) / word * word;
  reserve(2 * array, array);
  return {.launch = [=, this](int gpu, Stream stream) {
    const Grid grid{.workgroups = workgroups_per_cu * this->gpu(gpu).device().cus, .threads = 256};
    const char* const from = source(gpu, 2 * array);
    char* const to = written > 0 ? destination(gpu, array) : nullptr;
    launch(gpu, "stream", grid, stream, from, from + array, to, std::uint64_t{array / word}, reads, passes);
  }};
}

Operation Lab::hog(Hog what, int workgroups, double most_us) {
  constexpr std::size_t word = 16;  // bytes of a load
  const std::size_t array = what == Hog::memory ? beyond_caches : in_caches;
  reserve(2 * array, array);
  each([&](int number) {
    Memory& flag = flags_[static_cast<std::size_t>(number)];
    if (flag.bytes() == 0) flag = Memory::on(gpu(number), flag_bytes);
  });
  return {
      .launch =
          [=, this](int number, Stream stream) {
            const Memory& flag = flags_[static_cast<std::size_t>(number)];
            gpu(number).fill(flag.at(), 0, flag_bytes, stream);
            const double ticks = most_us * 1e-6 * gpu(number).device().ticks_per_second;
            launch(number, "hog", {.workgroups = workgroups, .threads = 1024}, stream,
                   HogArguments{static_cast<std::uint32_t>(what), source(number, 2 * array), destination(number, array),
                                array / word, flag.at(), static_cast<std::uint64_t>(ticks)});
          },
      .lane = hog_lane};
}

Operation Lab::stop_hogs(int lane) {
  return {.launch =
              [this](int number, Stream stream) {
                gpu(number).fill(flags_[static_cast<std::size_t>(number)].at(), 1, flag_bytes, stream);
              },
          .lane = lane};
}

Operation Lab::pause(int lane, double us) {
  constexpr std::size_t log_bytes = 256;  // of one workgroup
  each([&](int number) {
    Memory& log = stays_[static_cast<std::size_t>(number)];
    if (log.bytes() == 0) log = Memory::on(gpu(number), log_bytes);
  });
  return {.launch =
              [this, us](int number, Stream stream) {
                const auto ticks = static_cast<std::uint64_t>(us * 1e-6 * gpu(number).device().ticks_per_second);
                launch(number, "stay", {.workgroups = 1, .threads = 32}, stream,
                       stays_[static_cast<std::size_t>(number)].at(), ticks);
              },
          .lane = lane};
}

void Lab::fill_normal(int gpu, const Memory& memory, std::uint64_t seed, Stream stream) {
  const Grid grid{.workgroups = 8 * this->gpu(gpu).device().cus, .threads = 256};
  launch(gpu, "fill_normal", grid, stream, memory.at(), std::uint64_t{memory.bytes() / bytes_of_bfloat16}, seed);
}

void Lab::reserve(std::size_t at_sources, std::size_t at_destinations) {
  each([&](int gpu) {
    source(gpu, at_sources);
    destination(gpu, at_destinations);
  });
}

char* Lab::at_least(std::vector<Memory>& memory, int gpu, std::size_t bytes) {
  Memory& own = memory[static_cast<std::size_t>(gpu)];
  if (own.bytes() < bytes) {
    own = Memory();
    own = Memory::on(this->gpu(gpu), bytes);
    const Stream stream = this->stream(gpu, collective_lane);
    fill_normal(gpu, own, seed_of_arrays, stream);  // what moves costs energy by how its bits change
    finish(gpu, stream);
  }
  return own.at();
}

Kernel Lab::kernel(int gpu, const char* name) {
  auto& known = kernels_[static_cast<std::size_t>(gpu)];
  return made_once(known, std::string(name), [&] { return this->gpu(gpu).kernel(name); });
}

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
