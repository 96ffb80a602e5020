#include "calibrate/measure/lab.h"

#include "calibrate/measure/gpu_error.h"
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

}  // namespace c3sim::measure
