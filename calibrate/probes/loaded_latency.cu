// Measures how the latency of memory grows with its load, on one GPU with nothing else to do: one thread follows a
// chain of pointers while the other CUs stream, slowed down by pauses. It is what `gpu.memory.queueing_factor` stands
// for.
//
//   nvcc -O3 -o loaded_latency loaded_latency.cu && ./loaded_latency > loaded_latency.csv
//   hipcc -O3 -x hip -o loaded_latency loaded_latency.cu && ./loaded_latency > loaded_latency.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#if defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
using DeviceProp = hipDeviceProp_t;
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
using DeviceProp = cudaDeviceProp;
#endif

namespace {

void check(GPU(Error_t) status, const char* what) {
  if (status == GPU(Success)) return;
  std::fprintf(stderr, "error: %s: %s\n", what, GPU(GetErrorString)(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int loads_in_flight = 4;   // of 16 bytes, by each thread
constexpr std::size_t spacing = 64;  // words of 4 bytes between the pointers of a chain
constexpr std::uint32_t warm_up_hops = 4000;
constexpr std::uint32_t hops = 16000;
constexpr std::uint64_t most_rounds = 1u << 24;  // if the chain never ends

struct Load {
  const uint4* from;
  uint4* to;          // null: read only
  std::size_t words;  // of 16 bytes
  long long pause;    // cycles between two rounds of loads
};

struct Outcome {
  unsigned long long chase_cycles;
  unsigned long long streamed_bytes;
  int stop;
};

// Each load needs the one before; volatile keeps it out of the L1.
__device__ std::uint32_t follow(const volatile std::uint32_t* chain, std::uint32_t at, std::uint32_t times) {
  for (std::uint32_t hop = 0; hop < times; ++hop) at = chain[at];
  return at;
}

__device__ void chase(const std::uint32_t* chain, Outcome* outcome) {
  const std::uint32_t start = follow(chain, 0, warm_up_hops);
  const long long begin = clock64();
  const std::uint32_t end = follow(chain, start, hops);
  const long long cycles = clock64() - begin;
  outcome->chase_cycles = static_cast<unsigned long long>(cycles) + (end == ~0u ? 1 : 0);
  __threadfence();
  *static_cast<volatile int*>(&outcome->stop) = 1;
}

// Every block walks the array from a place of its own.
__device__ void stream(const Load& load, Outcome* outcome) {
  const std::size_t step = static_cast<std::size_t>(blockDim.x) * loads_in_flight;
  std::size_t at = load.words / gridDim.x * blockIdx.x / step * step;
  std::uint64_t rounds = 0;
  std::uint32_t sum = 0;
  for (; rounds < most_rounds && *static_cast<volatile int*>(&outcome->stop) == 0; ++rounds) {
    uint4 words[loads_in_flight];
    for (int i = 0; i < loads_in_flight; ++i) words[i] = load.from[at + i * blockDim.x + threadIdx.x];
    for (int i = 0; i < loads_in_flight; ++i) {
      if (load.to != nullptr) load.to[at + i * blockDim.x + threadIdx.x] = words[i];
      sum += words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
    }
    at += step;
    if (at + step > load.words) at = 0;
    for (const long long until = clock64() + load.pause; load.pause > 0 && clock64() < until;) {
    }
  }
  const unsigned long long bytes = rounds * loads_in_flight * sizeof(uint4) * (load.to != nullptr ? 2 : 1);
  atomicAdd(&outcome->streamed_bytes, bytes + (sum == 1 ? 1 : 0));
}

__global__ void chase_under_load(const std::uint32_t* chain, Load load, Outcome* outcome) {
  if (blockIdx.x > 0) {
    stream(load, outcome);
  } else if (threadIdx.x == 0) {
    chase(chain, outcome);
  }
}

__global__ void wait(long long cycles) {
  for (const long long until = clock64() + cycles; clock64() < until;) {
  }
}

class Stopwatch {
 public:
  Stopwatch() {
    CHECK(GPU(EventCreate)(&begin_));
    CHECK(GPU(EventCreate)(&end_));
    CHECK(GPU(EventRecord)(begin_, 0));
  }
  double seconds() {
    CHECK(GPU(EventRecord)(end_, 0));
    CHECK(GPU(EventSynchronize)(end_));
    float milliseconds = 0.0f;
    CHECK(GPU(EventElapsedTime)(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

 private:
  GPU(Event_t) begin_;
  GPU(Event_t) end_;
};

// Of clock64(), in cycles per second.
double clock_rate() {
  constexpr long long cycles = 400'000'000;
  wait<<<1, 1>>>(cycles);  // wakes the clock up
  CHECK(GPU(DeviceSynchronize)());
  Stopwatch stopwatch;
  wait<<<1, 1>>>(cycles);
  return cycles / stopwatch.seconds();
}

// A single cycle through all pointers, in random order (Sattolo's algorithm).
std::vector<std::uint32_t> random_cycle(std::size_t bytes) {
  const std::size_t count = bytes / (spacing * sizeof(std::uint32_t));
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(1);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  std::vector<std::uint32_t> chain(count * spacing, 0);
  for (std::size_t i = 0; i < count; ++i) {
    chain[i * spacing] = order[i] * static_cast<std::uint32_t>(spacing);
  }
  return chain;
}

template <typename T>
T* allocate(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(GPU(Malloc)(&memory, bytes));
  CHECK(GPU(Memset)(memory, 0, bytes));
  return static_cast<T*>(memory);
}

// Everything of one level of the hierarchy: the chain and the arrays fit a cache, or are far larger.
void measure(const char* level, std::size_t chain_bytes, std::size_t array_bytes, int cus, double hertz) {
  const std::vector<std::uint32_t> chain = random_cycle(chain_bytes);
  auto* const device_chain = allocate<std::uint32_t>(chain_bytes);
  CHECK(GPU(Memcpy)(device_chain, chain.data(), chain_bytes, GPU(MemcpyHostToDevice)));
  auto* const from = allocate<uint4>(array_bytes);
  auto* const to = allocate<uint4>(array_bytes);
  auto* const outcome = allocate<Outcome>(sizeof(Outcome));
  for (const bool copies : {false, true}) {
    for (const int threads : {256, 512, 1024}) {
      for (const long long pause : {1ll << 20, 25600ll, 12800ll, 6400ll, 4800ll, 3200ll, 2400ll, 1600ll, 1200ll, 800ll,
                                    600ll, 400ll, 300ll, 200ll, 100ll, 0ll}) {
        const Load load{from, copies ? to : nullptr, array_bytes / sizeof(uint4), pause};
        CHECK(GPU(Memset)(outcome, 0, sizeof(Outcome)));
        Stopwatch stopwatch;
        chase_under_load<<<cus, threads>>>(device_chain, load, outcome);
        CHECK(GPU(GetLastError)());
        const double seconds = stopwatch.seconds();
        Outcome seen;
        CHECK(GPU(Memcpy)(&seen, outcome, sizeof(Outcome), GPU(MemcpyDeviceToHost)));
        std::printf("%s,%s,%d,%lld,%.1f,%.1f\n", level, copies ? "copy" : "read", threads, pause,
                    static_cast<double>(seen.streamed_bytes) / seconds * 1e-9,
                    static_cast<double>(seen.chase_cycles) / hops / hertz * 1e9);
        std::fflush(stdout);
      }
    }
  }
  CHECK(GPU(Free)(device_chain));
  CHECK(GPU(Free)(from));
  CHECK(GPU(Free)(to));
  CHECK(GPU(Free)(outcome));
}

}  // namespace

int main() {
  DeviceProp device;
  CHECK(GPU(GetDeviceProperties)(&device, 0));
  const double hertz = clock_rate();
  std::printf("# %s: %d CUs, L2 of %d MiB, clock at %.0f MHz\n", device.name, device.multiProcessorCount,
              device.l2CacheSize >> 20, hertz * 1e-6);
  std::printf("level,traffic,threads,pause_cycles,streamed_GBps,latency_ns\n");
  const std::size_t mib = std::size_t{1} << 20;
  measure("memory", 2048 * mib, 8192 * mib, device.multiProcessorCount, hertz);
  measure("cache", 4 * mib, 8 * mib, device.multiProcessorCount, hertz);
}
