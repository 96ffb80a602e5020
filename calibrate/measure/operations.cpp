#include "calibrate/measure/operations.h"

#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::uint64_t seed_of_arrays = 1000;
constexpr int gemm_lane = 0, collective_lane = 1, first_peer_lane = 100;
constexpr int first_push_event = 100;

std::size_t elements(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

}  // namespace

Operations::Operations(Bench& bench, Runtime& runtime)
    : bench_(bench),
      runtime_(runtime),
      sources_(static_cast<std::size_t>(bench.gpus())),
      destinations_(static_cast<std::size_t>(bench.gpus())),
      kernels_(static_cast<std::size_t>(bench.gpus())) {}

Operations::~Operations() {
  try {
    bench_.each([this](int gpu) {
      for (auto& [channels, members] : communicators_) members[static_cast<std::size_t>(gpu)].reset();
    });
    forget_gemms();
  } catch (const GpuError&) {  // the GPU is gone, and what it had with it
  }
}

// On the threads of their GPUs.
void Operations::forget_gemms() {
  bench_.each([this](int gpu) {
    for (auto& [key, prepared] : gemms_) prepared[static_cast<std::size_t>(gpu)] = {};
  });
  gemms_.clear();
  gemm_bytes_ = 0;
}

Operation Operations::gemm(GemmShape shape, std::optional<int> cus, Operands operands) {
  const GemmKey key(shape, cus.value_or(0), operands);
  if (!gemms_.contains(key)) {
    const std::size_t bytes =
        bytes_of_bfloat16 * (elements(shape.m, shape.k) + elements(shape.k, shape.n) + elements(shape.m, shape.n));
    if (gemm_bytes_ + bytes > bench_.gpu(0).device().memory / 4) forget_gemms();
    std::vector<Prepared> prepared(static_cast<std::size_t>(bench_.gpus()));
    bench_.each([&](int gpu) { prepared[static_cast<std::size_t>(gpu)] = prepare(gpu, shape, cus, operands); });
    gemms_[key] = std::move(prepared);
    gemm_bytes_ += bytes;
  }
  return {.launch = [this, key](int gpu,
                                Stream stream) { gemms_.at(key)[static_cast<std::size_t>(gpu)].gemm->launch(stream); },
          .lane = gemm_lane,
          .cus = cus,
          .hot = true};
}

Operations::Prepared Operations::prepare(int number, GemmShape shape, std::optional<int> cus, Operands operands) {
  Gpu& gpu = bench_.gpu(number);
  Prepared prepared;
  prepared.a = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.m, shape.k));
  prepared.b = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.k, shape.n));
  prepared.c = Memory::on(gpu, bytes_of_bfloat16 * elements(shape.m, shape.n));
  const Stream stream = bench_.stream(number, gemm_lane);
  std::uint64_t seed = 1;
  for (const Memory* memory : {&prepared.a, &prepared.b}) {
    if (operands == Operands::normal) {
      fill_normal(number, *memory, seed++, stream);
    } else {
      gpu.fill(memory->at(), 0, memory->bytes(), stream);
    }
  }
  bench_.finish(number, stream);
  prepared.gemm = gpu.prepare_gemm(shape, {prepared.a.at(), prepared.b.at(), prepared.c.at()}, cus);
  return prepared;
}

Operation Operations::collective(Collective kind, std::size_t bytes, int channels) {
  if (!communicators_.contains(channels)) {
    std::vector<std::unique_ptr<Communicator>> members(static_cast<std::size_t>(bench_.gpus()));
    const GroupName group = runtime_.name_group();
    bench_.each([&](int gpu) {
      members[static_cast<std::size_t>(gpu)] = bench_.gpu(gpu).join(group, gpu, bench_.gpus(), channels);
    });
    communicators_[channels] = std::move(members);
  }
  reserve(bytes);
  return {.launch =
              [this, kind, bytes, channels](int gpu, Stream stream) {
                communicators_.at(channels)[static_cast<std::size_t>(gpu)]->launch(
                    kind, source(gpu, bytes), destination(gpu, bytes), bytes, stream);
              },
          .lane = collective_lane};
}

Operation Operations::copies(Collective kind, std::size_t bytes, bool in_a_row) {
  if (kind == Collective::all_reduce || kind == Collective::reduce_scatter) {
    throw GpuError(GpuError::Kind::unsupported, fmt::format("copies alone make no {}", to_string(kind)));
  }
  reserve(bytes);
  return {.launch = [this, kind, bytes, in_a_row](int gpu, Stream stream) { push(gpu, kind, bytes, stream, in_a_row); },
          .lane = collective_lane};
}

// Forks from the stream to one for each peer, and joins them again, or stays on it.
void Operations::push(int number, Collective kind, std::size_t bytes, Stream stream, bool in_a_row) {
  const bool broadcast = kind == Collective::broadcast;
  if (broadcast && number != 0) return;
  Gpu& gpu = bench_.gpu(number);
  const int gpus = bench_.gpus();
  const std::size_t part = broadcast ? bytes : bytes / static_cast<std::size_t>(gpus);
  const Event fork = bench_.event(number, first_push_event);
  if (!in_a_row) gpu.record(fork, stream);
  for (int step = 1; step < gpus; ++step) {  // every GPU begins with another peer
    const int peer = (number + step) % gpus;
    const std::size_t own = broadcast ? 0 : part * static_cast<std::size_t>(number);
    const std::size_t from = kind == Collective::all_to_all ? part * static_cast<std::size_t>(peer) : own;
    char* const to = destination(peer, bytes) + own;
    if (in_a_row) {
      gpu.copy(to, source(number, bytes) + from, part, stream);
      continue;
    }
    const Stream lane = bench_.stream(number, first_peer_lane + step);
    const Event joined = bench_.event(number, first_push_event + step);
    gpu.wait(lane, fork);
    gpu.copy(to, source(number, bytes) + from, part, lane);
    gpu.record(joined, lane);
    gpu.wait(stream, joined);
  }
}

void Operations::fill_normal(int gpu, const Memory& memory, std::uint64_t seed, Stream stream) {
  const Grid grid{.workgroups = 8 * bench_.gpu(gpu).device().cus, .threads = 256};
  launch(gpu, "fill_normal", grid, stream, memory.at(), std::uint64_t{memory.bytes() / bytes_of_bfloat16}, seed);
}

void Operations::reserve(std::size_t bytes) {
  bench_.each([&](int gpu) {
    source(gpu, bytes);
    destination(gpu, bytes);
  });
}

char* Operations::at_least(std::vector<Memory>& memory, int gpu, std::size_t bytes) {
  Memory& own = memory[static_cast<std::size_t>(gpu)];
  if (own.bytes() < bytes) {
    own = Memory();
    own = Memory::on(bench_.gpu(gpu), bytes);
    const Stream stream = bench_.stream(gpu, collective_lane);
    fill_normal(gpu, own, seed_of_arrays, stream);  // what moves costs energy by how its bits change
    bench_.finish(gpu, stream);
  }
  return own.at();
}

Kernel Operations::kernel(int gpu, const char* name) {
  auto& known = kernels_[static_cast<std::size_t>(gpu)];
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known[name] = bench_.gpu(gpu).kernel(name);
}

}  // namespace c3sim::measure
