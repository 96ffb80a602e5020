// Defines the kernels that measurements run. NVRTC or hipRTC compiles them on the machine: no header is needed.
#if defined(__HIPCC_RTC__) || defined(__HIP__)
#define ON_AMD 1
#endif

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

struct alignas(16) Word {
  u32 x, y, z, w;
};

// now() returns the time in ticks of a clock that is the same on all CUs and runs on whatever their clocks do, cycles()
// the time in cycles of this CU's own clock. this_cu() returns a number of this workgroup's CU: on AMD the numbers come
// from fields of its hardware register and are not consecutive.
#ifdef ON_AMD
static __device__ u64 now() { return __builtin_amdgcn_s_memrealtime(); }
static __device__ u64 cycles() { return __builtin_readcyclecounter(); }
static __device__ u32 this_cu() {
  constexpr u32 hw_id = 4, whole_register = 31 << 11;
  const u32 place = __builtin_amdgcn_s_getreg(whole_register | hw_id) >> 8 & 0xff;  // shader array, engine and CU
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
  constexpr u32 xcc_id = 20;
  return (__builtin_amdgcn_s_getreg(whole_register | xcc_id) & 0xf) << 8 | place;
#else
  return place;
#endif
}
#else
static __device__ u64 now() {
  u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}
static __device__ u64 cycles() {
  u64 count;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(count)::"memory");
  return count;
}
static __device__ u32 this_cu() {
  u32 sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}
#endif

static __device__ u64 mixed(u64 x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

extern "C" __global__ void empty() {}

// Fills an array with bf16 numbers of mean 0 and variance 1: the sum of twelve of 16 bits is near enough to normal.
extern "C" __global__ void fill_normal(u16* to, u64 count, u64 seed) {
  const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    float sum = 0.0f;
    for (u64 part = 0; part < 3; ++part) {
      for (u64 bits = mixed(seed + i * 3 + part), n = 0; n < 4; ++n, bits >>= 16) {
        sum += static_cast<float>(bits & 0xffff) * (1.0f / 65536.0f);
      }
    }
    union {
      float number;
      u32 bits;
    } normal;
    normal.number = sum - 6.0f;
    to[i] = static_cast<u16>(normal.bits >> 16);
  }
}

// Passes through arrays of `words` each: reads `reads` of them (0 to 2), writes one if `to` is not null.
extern "C" __global__ void stream(const Word* first, const Word* second, Word* to, u64 words, int reads, int passes) {
  const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x;
  u32 sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += threads) {
      Word word = {1, 2, 3, 4};
      if (reads > 0) word = first[i];
      if (reads > 1) {
        const Word other = second[i];
        word.x += other.x, word.y += other.y, word.z += other.z, word.w += other.w;
      }
      if (to != 0) {
        to[i] = word;
      } else {
        sum += word.x ^ word.y ^ word.z ^ word.w;
      }
    }
  }
  if (sum == 0x12345678 && to != 0) to[0].x = sum;  // never true; what is read must be used
  if (to == 0 && sum == 0x12345678) const_cast<Word*>(first)[0].x = sum;
}

// Returns the stop of this number on a walk through 2^bits places, each once.
static __device__ u64 stop(u64 number, int bits) {
  const u64 mask = (1ull << bits) - 1;
  u64 at = number & mask;
  for (int round = 0; round < 3; ++round) {
    at = at * 0x9e3779b97f4a7c15ull & mask;
    at ^= at >> (bits + 1) / 2;
  }
  return at;
}

// Writes a single cycle of 2^bits pointers that stand `spacing` words apart.
extern "C" __global__ void make_chain(u32* chain, int bits, u32 spacing) {
  const u64 count = 1ull << bits, threads = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    chain[stop(i, bits) * spacing] = static_cast<u32>(stop(i + 1, bits) * spacing);
  }
}

struct Load {
  const Word* from;
  Word* to;   // null: read only
  u64 words;  // of an array
  u64 pause;  // cycles between two rounds of loads
};

struct Outcome {
  u64 chase_ticks;
  u64 streamed_bytes;
  u64 stream_ticks;  // of the slowest workgroup
  u32 stop;
};

// Follows a chain: each load needs the one before; volatile keeps it out of the cache of the CU.
static __device__ u32 follow(const volatile u32* chain, u32 at, u32 hops) {
  for (u32 hop = 0; hop < hops; ++hop) at = chain[at];
  return at;
}

static __device__ void chase(const u32* chain, u32 warm_up, u32 hops, Outcome* outcome) {
  const u32 start = follow(chain, 0, warm_up);
  const u64 begin = now();
  const u32 end = follow(chain, start, hops);
  outcome->chase_ticks = now() - begin + (end == ~0u ? 1 : 0);
  __threadfence();
  *static_cast<volatile u32*>(&outcome->stop) = 1;
}

// Every workgroup walks the array from a place of its own until the chase ends.
static __device__ void stream_beside(const Load& load, Outcome* outcome) {
  constexpr u64 most_rounds = 1ull << 24;  // a limit, if the chase never ends
  constexpr int in_flight = 4;
  const u64 step = static_cast<u64>(blockDim.x) * in_flight;
  const u64 begin = now();
  u64 at = load.words / gridDim.x * blockIdx.x / step * step, rounds = 0;
  u32 sum = 0;
  for (; rounds < most_rounds && *static_cast<volatile u32*>(&outcome->stop) == 0; ++rounds) {
    Word words[in_flight];
    for (int i = 0; i < in_flight; ++i) words[i] = load.from[at + i * blockDim.x + threadIdx.x];
    for (int i = 0; i < in_flight; ++i) {
      if (load.to != 0) load.to[at + i * blockDim.x + threadIdx.x] = words[i];
      sum += words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
    }
    at += step;
    if (at + step > load.words) at = 0;
    for (const u64 until = cycles() + load.pause; load.pause > 0 && cycles() < until;) {
    }
  }
  atomicAdd(&outcome->streamed_bytes, rounds * in_flight * sizeof(Word) * (load.to != 0 ? 2 : 1) + (sum == 1 ? 1 : 0));
  if (threadIdx.x == 0) atomicMax(&outcome->stream_ticks, now() - begin);
}

extern "C" __global__ void chase_under_load(const u32* chain, u32 warm_up, u32 hops, Load load, Outcome* outcome) {
  if (blockIdx.x > 0) {
    stream_beside(load, outcome);
  } else if (threadIdx.x == 0) {
    chase(chain, warm_up, hops, outcome);
  }
}

struct Stay {
  u64 begin, end;  // ticks
  u64 cu;
};

// Each workgroup stays on its CU for this number of ticks and writes down where and when.
extern "C" __global__ void stay(Stay* log, u64 ticks) {
  if (threadIdx.x == 0) {
    const u64 begin = now();
    u64 end = begin;
    while (end - begin < ticks) end = now();
    const Stay own = {begin, end, this_cu()};
    log[blockIdx.x] = own;
  }
  __syncthreads();
}

struct Hog {
  u32 what;          // 0: stays, 1: arithmetic, 2: reads `from` again and again, 3: triads
  const Word* from;  // two arrays, one after the other
  Word* to;
  u64 words;        // of an array
  const u32* stop;  // the kernel ends once this is not 0 ...
  u64 most_ticks;   // ... or after this number of ticks
};

// Computes products and sums that depend on nothing but those before them, so that arithmetic never waits for memory.
static __device__ float multiply_and_add(float seed) {
  constexpr int chains = 8, rounds = 256;
  float sums[chains];
  for (int chain = 0; chain < chains; ++chain) sums[chain] = seed + static_cast<float>(chain);
  for (int round = 0; round < rounds; ++round) {
    for (int chain = 0; chain < chains; ++chain) sums[chain] = sums[chain] * 0.999f + 0.5f;
  }
  float sum = 0.0f;
  for (int chain = 0; chain < chains; ++chain) sum += sums[chain];
  return sum;
}

// Keeps its CUs, and what it works on, busy for as long as something else is timed beside it. One thread of each
// workgroup asks now and then whether that is over, since a word that all threads asked for again and again would delay
// everybody's loads; in a hog that only stays, the others wait for that thread. No kernel here declares local memory of
// its own: a launch may ask for all that a CU has.
extern "C" __global__ void __launch_bounds__(1024) hog(Hog hog) {
  constexpr int in_flight = 4;
  constexpr u64 between_looks = 2000;  // cycles
  const int rounds = hog.what == 0 ? 0 : hog.what == 1 ? 1 : 8;
  const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x, begin = now();
  u64 at = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  float arithmetic = static_cast<float>(threadIdx.x);
  u32 sum = 0;
  for (int over = 0; over == 0;) {
    for (int round = 0; round < rounds; ++round) {
      if (hog.what == 1) {
        arithmetic = multiply_and_add(arithmetic);
        continue;
      }
      for (int i = 0; i < in_flight; ++i) {
        Word word = hog.from[at];
        if (hog.what == 3) {
          const Word other = hog.from[hog.words + at];
          word.x += other.x, word.y += other.y, word.z += other.z, word.w += other.w;
          hog.to[at] = word;
        } else {
          sum += word.x ^ word.y ^ word.z ^ word.w;
        }
        at += threads;
        if (at >= hog.words) at -= hog.words;
      }
    }
    int is_over = 0;
    if (threadIdx.x == 0) {
      for (const u64 until = cycles() + between_looks; hog.what == 0 && cycles() < until;) {
      }
      is_over = *static_cast<const volatile u32*>(hog.stop) != 0 || now() - begin >= hog.most_ticks ? 1 : 0;
    }
    over = __syncthreads_or(is_over);
  }
  if ((arithmetic == 0.25f || sum == 0x12345678) && hog.to != 0) hog.to[0].x = sum;  // results must be used
}
