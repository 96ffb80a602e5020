#include "calibrate/measure/lab.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int most_warm_ups = 1000;
constexpr std::uint64_t seed_of_arrays = 1000;
constexpr int gemm_lane = 0, collective_lane = 1, hog_lane = 2, first_peer_lane = 101;
// Events below first_lane_event are for short-lived use.
constexpr int begin_event = 1, end_event = 2, first_lane_event = 100, finishing_event = 999, start_event = 1000;
constexpr std::size_t small_bytes = 256;                                                        // of a flag or a log
constexpr std::size_t in_caches = std::size_t{24} << 20, beyond_caches = std::size_t{1} << 30;  // of an array

// HogArguments is laid out as Hog of device/kernels.cu.
struct HogArguments {
  std::uint32_t what;
  const char* from;
  char* to;
  std::uint64_t words;
  const char* stop;
  std::uint64_t most_ticks;
};

// Returns the value of a key, or makes it now.
template <class Key, class Value, class Make>
Value& made_once(std::map<Key, Value>& known, const Key& key, const Make& make) {
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, make()).first->second;
}

std::size_t matrix_bytes(std::int64_t rows, std::int64_t columns) {
  return bytes_of_bfloat16 * static_cast<std::size_t>(rows * columns);
}

bool takes_part(const std::vector<int>& on, int gpu) { return on.empty() || std::ranges::find(on, gpu) != on.end(); }

}  // namespace

double host_microseconds() {
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
  };
  return {at(0.5), at(0.1), at(0.9), values.size()};
}

bool Rendezvous::arrive(const std::function<void()>& then) {
  constexpr int spins = 20000;  // after these it yields its core
  const int round = round_;
  if (++waiting_ == threads_) {
    if (then) then();
    waiting_ = 0;
    ++round_;
    return !given_up_;
  }
  for (int i = 0; round_ == round && !given_up_; ++i) {
    if (i > spins) std::this_thread::yield();
  }
  return !given_up_;
}

void on_threads(int threads, const std::function<void(int)>& work) {
  std::mutex mutex;
  std::exception_ptr fault;
  const auto serve = [&](int number) {
    try {
      work(number);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!fault) fault = std::current_exception();
    }
  };
  std::vector<std::jthread> all;
  for (int number = 0; number < threads; ++number) all.emplace_back(serve, number);
  all.clear();  // joins them
  if (fault) std::rethrow_exception(fault);
}

Lab::Lab(std::vector<std::unique_ptr<Gpu>> gpus, const Protocol& protocol, Runtime& runtime)
    : stations_(gpus.size()), protocol_(protocol), runtime_(runtime) {
  for (std::size_t number = 0; number < gpus.size(); ++number) stations_[number].gpu = std::move(gpus[number]);
  each([this](int number) {
    for (int peer = 0; peer < this->gpus(); ++peer) {
      if (peer != number) gpu(number).reach(gpu(peer));
    }
    station(number).flag = Memory(gpu(number), small_bytes);
    station(number).log = Memory(gpu(number), small_bytes);
  });
}

Lab::~Lab() {
  try {
    each([this](int gpu) { station(gpu).communicators.clear(); });
    forget_gemms();
  } catch (const GpuError&) {  // the GPU is lost with all that it held
  }
}

void Lab::each(const std::function<void(int)>& work) {
  on_threads(gpus(), [&](int number) {
    gpu(number).make_current();
    work(number);
  });
}

void Lab::on(int number, const std::function<void()>& work) {
  each([&](int other) {
    if (other == number) work();
  });
}

void Lab::repeat(const std::vector<int>& on, const std::function<bool()>& goes_on,
                 const std::function<void(int)>& turn) {
  Rendezvous rendezvous(on.empty() ? gpus() : static_cast<int>(on.size()));
  bool over = false;
  each([&](int number) {
    if (!takes_part(on, number)) return;
    try {
      while (rendezvous.arrive([&] { over = !goes_on(); }) && !over) turn(number);
    } catch (...) {
      rendezvous.give_up();
      throw;
    }
  });
}

Timing Lab::time(const std::vector<Operation>& operations, const std::vector<int>& on) {
  const bool hot = std::ranges::any_of(operations, &Operation::hot);
  const std::chrono::duration<double> warm_up = hot ? protocol_.hot_warm_up : protocol_.warm_up;
  Clock::time_point start;
  int begun = 0;
  std::size_t counted = 0;
  bool counts = false;  // false while it warms up
  // Each run that counts has the figures of run_once(), each the largest of all GPUs.
  std::vector<std::vector<double>> runs(static_cast<std::size_t>(protocol_.counted));
  std::mutex mutex;
  const auto goes_on = [&] {
    if (begun++ == 0) start = Clock::now();
    if (counts) return ++counted < runs.size();
    counts = begun > protocol_.least_warm_ups && (Clock::now() - start >= warm_up || begun > most_warm_ups);
    return true;
  };
  repeat(on, goes_on, [&](int number) {
    const std::vector<double> run = run_once(number, operations);
    if (!counts) return;
    const std::lock_guard lock(mutex);
    std::vector<double>& slowest = runs[counted];
    slowest.resize(run.size(), std::numeric_limits<double>::lowest());
    std::ranges::transform(run, slowest, slowest.begin(),
                           [](double one, double other) { return std::max(one, other); });
  });
  const auto summary_of = [&runs](const auto& figure) {
    std::vector<double> values;
    std::ranges::transform(runs, std::back_inserter(values), figure);
    return summarize(std::move(values));
  };
  using Run = std::vector<double>;
  Timing timing{.all = summary_of([](const Run& run) { return run[2]; }),
                .wall = summary_of([](const Run& run) { return run[1] + run[0]; }),
                .each = {}};
  for (std::size_t i = 0; i < operations.size(); ++i) {
    timing.each.push_back(summary_of([i](const Run& run) { return run[3 + i]; }));
  }
  return timing;
}

// Returns the figures of a run: its begin by the host's clock, negated so that the largest is the earliest, its end,
// and by events the time of all of it and of each operation.
std::vector<double> Lab::run_once(int number, const std::vector<Operation>& operations) {
  Gpu& gpu = this->gpu(number);
  const Event start = event(number, start_event);
  std::vector<Stream> streams;
  std::vector<Event> begins, ends;
  for (const Operation& operation : operations) {
    streams.push_back(stream(number, operation.lane, operation.cus, operation.first_cu));
    begins.push_back(event(number, start_event + 2 * static_cast<int>(streams.size()) - 1));
    ends.push_back(event(number, start_event + 2 * static_cast<int>(streams.size())));
  }

  std::vector<double> figures(3, 0.0);
  figures.reserve(figures.size() + operations.size());
  figures[0] = -host_microseconds();
  gpu.record(start, streams.front());
  for (const Stream stream : streams) {
    if (stream != streams.front()) gpu.wait(stream, start);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    gpu.record(begins[i], streams[i]);
    operations[i].launch(number, streams[i]);
    gpu.record(ends[i], streams[i]);
  }
  for (const Event end : ends) await(number, end);
  figures[1] = host_microseconds();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    figures[2] = std::max(figures[2], gpu.microseconds(start, ends[i]));
    figures.push_back(gpu.microseconds(begins[i], ends[i]));
  }
  return figures;
}

std::map<std::string, Summary> Lab::sample(int gpu, const std::function<std::map<std::string, double>()>& measured) {
  std::map<std::string, std::vector<double>> values;
  on(gpu, [&] {
    for (int repeat = -protocol_.least_warm_ups; repeat < protocol_.counted; ++repeat) {
      for (const auto& [name, value] : measured()) {
        if (repeat >= 0) values[name].push_back(value);
      }
    }
  });
  std::map<std::string, Summary> summaries;
  for (auto& [name, own] : values) summaries[name] = summarize(std::move(own));
  return summaries;
}

void Lab::replay(const Operation& operation, const std::vector<int>& on,
                 const std::function<void(const Operation&)>& timed) {
  const auto each_of_them = [&](const auto& work) {
    each([&](int gpu) {
      if (takes_part(on, gpu)) work(gpu, this->gpu(gpu), station(gpu).graph);
    });
  };
  time({operation}, on);  // makes and loads everything, which no capture may do
  each_of_them([&](int number, Gpu& gpu, Graph& graph) {
    const Stream stream = this->stream(number, operation.lane);
    graph = gpu.capture(stream, [&] { operation.launch(number, stream); });
  });
  const auto forget = [&](void*) { each_of_them([](int, Gpu& gpu, Graph graph) { gpu.release(graph); }); };
  const std::unique_ptr<void, decltype(forget)> graphs(this, forget);  // also where `timed` throws
  const auto launch = [this](int gpu, Stream stream) { this->gpu(gpu).launch(station(gpu).graph, stream); };
  timed({.launch = launch, .lane = operation.lane});
}

Stream Lab::stream(int number, int lane, std::optional<int> cus, int first_cu) {
  const std::tuple key(lane, cus.value_or(0), first_cu);
  return made_once(station(number).streams, key, [&] { return gpu(number).create_stream(cus, first_cu); });
}

Event Lab::event(int number, int which) {
  return made_once(station(number).events, which, [&] { return gpu(number).create_event(); });
}

void Lab::finish(int number, Stream stream) {
  gpu(number).record(event(number, finishing_event), stream);
  await(number, event(number, finishing_event));
}

void Lab::await(int number, Event event) {
  const Clock::time_point patient_until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(protocol_.patience);
  while (!gpu(number).done(event)) {
    if (Clock::now() > patient_until) {
      throw GpuError(GpuError::Kind::hang, "GPU {} does not end its work", number);
    }
  }
}

// Destroys GEMMs on the threads of their GPUs.
void Lab::forget_gemms() {
  each([this](int gpu) { station(gpu).gemms.clear(); });
  gemm_bytes_ = 0;
}

Operation Lab::gemm(GemmShape shape, std::optional<int> cus, Operands operands) {
  const GemmKey key(shape, cus.value_or(0), operands);
  const auto has_it = [&key](const Station& one) { return one.gemms.contains(key); };
  if (!std::ranges::all_of(stations_, has_it)) {
    const std::size_t bytes =
        matrix_bytes(shape.m, shape.k) + matrix_bytes(shape.k, shape.n) + matrix_bytes(shape.m, shape.n);
    if (gemm_bytes_ + bytes > this->gpu(0).device().memory / 4) forget_gemms();
    each([&](int gpu) {
      station(gpu).gemms.erase(key);  // left by an attempt that failed on another GPU
      station(gpu).gemms.emplace(key, prepare(gpu, shape, cus, operands));
    });
    gemm_bytes_ += bytes;
  }
  return {.launch = [this, key](int gpu, Stream stream) { station(gpu).gemms.at(key).gemm->launch(stream); },
          .lane = gemm_lane,
          .cus = cus,
          .hot = true};
}

Lab::Prepared Lab::prepare(int number, GemmShape shape, std::optional<int> cus, Operands operands) {
  Gpu& gpu = this->gpu(number);
  Prepared prepared{.a = Memory(gpu, matrix_bytes(shape.m, shape.k)),
                    .b = Memory(gpu, matrix_bytes(shape.k, shape.n)),
                    .c = Memory(gpu, matrix_bytes(shape.m, shape.n)),
                    .gemm = {}};
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
  const auto has_joined = [channels](const Station& one) { return one.communicators.contains(channels); };
  if (!std::ranges::all_of(stations_, has_joined)) {
    const GroupName group = runtime_.name_group();
    each([&](int gpu) {
      station(gpu).communicators.erase(channels);  // left by an attempt that failed on another GPU
      station(gpu).communicators.emplace(channels, this->gpu(gpu).join(group, gpu, gpus(), channels));
    });
  }
  reserve(bytes, bytes);
  const auto launch = [=, this](int gpu, Stream stream) {
    station(gpu).communicators.at(channels)->launch(kind, source(gpu, bytes), destination(gpu, bytes), bytes, stream);
  };
  return {.launch = launch, .lane = collective_lane};
}

Operation Lab::copies(Collective kind, std::size_t bytes, bool in_a_row) {
  if (kind == Collective::all_reduce || kind == Collective::reduce_scatter) {
    throw GpuError(GpuError::Kind::unsupported, "copies alone make no {}", to_string(kind));
  }
  reserve(bytes, bytes);
  return {.launch = [this, kind, bytes, in_a_row](int gpu, Stream stream) { push(gpu, kind, bytes, stream, in_a_row); },
          .lane = collective_lane};
}

// Pushes to each peer on a stream of its own or, with `in_a_row`, on this one.
void Lab::push(int number, Collective kind, std::size_t bytes, Stream stream, bool in_a_row) {
  const bool broadcast = kind == Collective::broadcast;
  if (broadcast && number != 0) return;
  const std::size_t part = broadcast ? bytes : bytes / static_cast<std::size_t>(gpus());
  const std::size_t own = broadcast ? 0 : part * static_cast<std::size_t>(number);
  const auto copy = [&](int i, Stream on) {
    const int peer = (number + 1 + i) % gpus();  // every GPU begins with another peer
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
  constexpr int workgroups_per_cu = 8;
  const std::size_t array = bytes / static_cast<std::size_t>(reads + written) / bytes_of_word * bytes_of_word;
  reserve(2 * array, array);
  return {.launch = [=, this](int gpu, Stream stream) {
    const Grid grid{.workgroups = workgroups_per_cu * this->gpu(gpu).device().cus, .threads = 256};
    const char* const from = source(gpu, 2 * array);
    char* const to = written > 0 ? destination(gpu, array) : nullptr;
    launch(gpu, "stream", grid, stream, from, from + array, to, std::uint64_t{array / bytes_of_word}, reads, passes);
  }};
}

Operation Lab::hog(Hog what, int workgroups, double most_us) {
  const std::size_t array = what == Hog::memory ? beyond_caches : in_caches;
  reserve(2 * array, array);
  return {.launch =
              [=, this](int number, Stream stream) {
                const Memory& flag = station(number).flag;
                gpu(number).fill(flag.at(), 0, flag.bytes(), stream);
                launch(
                    number, "hog", {.workgroups = workgroups, .threads = 1024}, stream,
                    HogArguments{static_cast<std::uint32_t>(what), source(number, 2 * array),
                                 destination(number, array), array / bytes_of_word, flag.at(), ticks(number, most_us)});
              },
          .lane = hog_lane};
}

Operation Lab::stop_hogs(int lane) {
  return {.launch = [this](int number,
                           Stream stream) { gpu(number).fill(station(number).flag.at(), 1, small_bytes, stream); },
          .lane = lane};
}

Operation Lab::pause(int lane, double us) {
  return {.launch =
              [this, us](int number, Stream stream) {
                launch(number, "stay", {.workgroups = 1, .threads = 32}, stream, station(number).log.at(),
                       ticks(number, us));
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

char* Lab::at_least(Memory& memory, int gpu, std::size_t bytes) {
  if (memory.bytes() < bytes) {
    memory = Memory();
    memory = Memory(this->gpu(gpu), bytes);
    const Stream stream = this->stream(gpu, collective_lane);
    fill_normal(gpu, memory, seed_of_arrays, stream);  // a transfer's energy depends on how its bits change
    finish(gpu, stream);
  }
  return memory.at();
}

Kernel Lab::kernel(int gpu, const char* name) {
  return made_once(station(gpu).kernels, std::string(name), [&] { return this->gpu(gpu).kernel(name); });
}

namespace {

// A BoardWatch samples power and clock of all boards on a thread of its own.
class BoardWatch {
 public:
  explicit BoardWatch(Lab& lab) : lab_(lab) {
    for (int gpu = 0; gpu < lab_.gpus(); ++gpu) {
      if (!lab_.gpu(gpu).board()) throw GpuError(GpuError::Kind::unsupported, "the boards do not tell power and clock");
    }
    thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
  }

  // Returns the means from that moment until now, without times.
  Sustained since(double begin_us) const {
    Sustained sustained{.all = mean_of({}, begin_us), .boards = {}};
    for (int gpu = 0; gpu < lab_.gpus(); ++gpu) sustained.boards.push_back(mean_of(gpu, begin_us));
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
      for (int gpu = 0; gpu < lab_.gpus(); ++gpu) {
        const std::optional<BoardState> state = lab_.gpu(gpu).board();
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
    if (mean.samples == 0) {  // shorter than a period: the state of this moment is all there is
      if (const std::optional<BoardState> state = lab_.gpu(gpu.value_or(0)).board()) add(*state);
    }
    if (mean.samples == 0) throw GpuError(GpuError::Kind::failed, "the boards told no power and no clock meanwhile");
    mean.state.power /= static_cast<double>(mean.samples);
    mean.state.clock /= static_cast<double>(mean.samples);
    return mean;
  }

  Lab& lab_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

Sustained sustain_rest(Lab& lab) {
  std::this_thread::sleep_for(lab.protocol().rest);
  const BoardWatch watch(lab);
  const double begin = host_microseconds();
  std::this_thread::sleep_for(lab.protocol().rest);
  return watch.since(begin);
}

Sustained sustain(Lab& lab, const Operation& operation, double seconds, const std::vector<int>& on,
                  std::optional<std::chrono::duration<double>> pause) {
  constexpr double micro = 1e6;
  constexpr double long_enough = 50e3;  // us: breaks between batches are negligible then
  constexpr double most = 5000.0;
  const double once = std::max(1.0, lab.time({operation}, on).all.median);
  const int batch = pause ? 1 : static_cast<int>(std::clamp(long_enough / once, 1.0, most));
  const double all_of_it = micro * lab.protocol().brevity * seconds;
  const BoardWatch watch(lab);
  std::this_thread::sleep_for(lab.protocol().rest);
  const double start = host_microseconds();
  double half = 0.0;  // when the second half began
  int batches = 0;    // of the second half: one at least
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
    if (pause) std::this_thread::sleep_for(*pause);
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
