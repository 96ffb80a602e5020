// A bench with GEMMs, collectives and copies of all GPUs, made ready once and run many times.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/measure/bench.h"

namespace c3sim::measure {

enum class Operands { normal, zero };  // what the matrices hold: it decides what they cost in power

// What a hog does: it stays on its CUs, multiplies and adds, reads what caches hold, or streams through memory.
enum class Hog { stay, fma, cache, memory };

class Lab : public Bench {
 public:
  // `brevity`: of what lasts seconds; 0.5 is half as long.
  Lab(std::vector<std::unique_ptr<Gpu>> gpus, Protocol protocol, Runtime& runtime, double brevity);
  ~Lab();

  double brevity() const { return brevity_; }

  // On every GPU, in lane 0. It stays valid until so many others follow that memory runs short.
  Operation gemm(GemmShape shape, std::optional<int> cus = {}, Operands operands = Operands::normal);
  // By kernels, on lane 1; `bytes` is the whole array of one GPU, `channels` 0 the library's own choice.
  Operation collective(Collective kind, std::size_t bytes, int channels = 0);
  // By copies: every GPU pushes to each of its peers, on a stream for each or `in_a_row` on one. All-gather,
  // all-to-all, and broadcast from GPU 0; GpuError for others, which compute.
  Operation copies(Collective kind, std::size_t bytes, bool in_a_row = false);
  // Streams through arrays of so many bytes together on every GPU, over and over: reads so many of them, 0 to 2, and
  // writes one or none.
  Operation streaming(std::size_t bytes, int reads, int written, int passes = 1);
  // On every GPU, in lane 2: so many workgroups of 1024 threads that do the same over and over until stop_hogs() of the
  // same run, or for so many microseconds.
  Operation hog(Hog what, int workgroups, double most_us);
  Operation stop_hogs(int lane);
  // One workgroup that stays for so long: what follows it in its lane begins so much later.
  Operation pause(int lane, double us);
  // On a GPU: a lane for each of `copies`, from `first_lane` on, forks from the stream and is joined again.
  void at_once(int gpu, Stream stream, int first_lane, int copies, const std::function<void(int, Stream)>& copy);
  // A kernel of device/kernels.cu on lane 0.
  template <class... Arguments>
  void launch(int gpu, const char* kernel, Grid grid, Stream stream, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    this->gpu(gpu).launch(this->kernel(gpu, kernel), grid, pointers, stream);
  }

  // Of every GPU, at least so large; valid until one asks for more. And on all of them, before one that others write to
  // is needed.
  char* source(int gpu, std::size_t bytes) { return at_least(sources_, gpu, bytes); }
  char* destination(int gpu, std::size_t bytes) { return at_least(destinations_, gpu, bytes); }
  void reserve(std::size_t at_sources, std::size_t at_destinations);

 private:
  struct Prepared {
    Memory a, b, c;
    std::unique_ptr<Gemm> gemm;
  };
  using GemmKey = std::tuple<GemmShape, int, Operands>;

  Prepared prepare(int gpu, GemmShape shape, std::optional<int> cus, Operands operands);
  void forget_gemms();
  void push(int gpu, Collective kind, std::size_t bytes, Stream stream, bool in_a_row);
  void fill_normal(int gpu, const Memory& memory, std::uint64_t seed, Stream stream);  // bf16 random numbers
  char* at_least(std::vector<Memory>& memory, int gpu, std::size_t bytes);
  Kernel kernel(int gpu, const char* name);

  Runtime& runtime_;
  double brevity_;
  std::map<GemmKey, std::vector<Prepared>> gemms_;
  std::size_t gemm_bytes_ = 0;
  std::map<int, std::vector<std::unique_ptr<Communicator>>> communicators_;  // by channels
  std::vector<Memory> sources_, destinations_;
  std::vector<Memory> flags_;  // that hogs watch
  std::vector<Memory> stays_;  // what pauses write down
  std::vector<std::map<std::string, Kernel>> kernels_;
};

// Work that goes on for seconds, so that power and clocks settle.

// What boards told in the second half.
struct BoardMean {
  BoardState state;
  std::size_t samples = 0;
};

struct Sustained {
  double time = 0.0;              // of one run, in us: mean over GPUs in the second half
  double period = 0.0;            // from one to the next, pauses included
  BoardMean all;                  // GPUs
  std::vector<BoardMean> boards;  // by GPU
};

// After a rest, all these GPUs (none named: all) run it for so long, at the lab's brevity: batches of some 50 ms
// without a break or, where there is a pause, one by one; then they wait for one another and for the pause. GpuError
// where the boards tell nothing.
Sustained sustain(Lab& lab, const Operation& operation, double seconds, const std::vector<int>& on = {},
                  std::optional<std::chrono::duration<double>> pause = {});

// The same of GPUs that do nothing, for two rests.
Sustained sustain_rest(Bench& bench);

void rest(std::chrono::duration<double> time);

}  // namespace c3sim::measure
