// GEMMs, collectives and copies of all GPUs, made ready once and run many times.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/measure/bench.h"

namespace c3sim::measure {

enum class Operands { normal, zero };  // what the matrices hold: it decides what they cost in power

class Operations {
 public:
  Operations(Bench& bench, Runtime& runtime);
  ~Operations();
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  // On every GPU, in lane 0. It stays valid until so many others follow that memory runs short.
  Operation gemm(GemmShape shape, std::optional<int> cus = {}, Operands operands = Operands::normal);
  // By kernels, on lane 1; `bytes` is the whole array of one GPU, `channels` 0 the library's own choice.
  Operation collective(Collective kind, std::size_t bytes, int channels = 0);
  // By copies: every GPU pushes to each of its peers, on a stream for each or `in_a_row` on one. All-gather,
  // all-to-all, and broadcast from GPU 0; GpuError for others, which compute.
  Operation copies(Collective kind, std::size_t bytes, bool in_a_row = false);
  // A kernel of device/kernels.cu on lane 0.
  template <class... Arguments>
  void launch(int gpu, const char* kernel, Grid grid, Stream stream, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    bench_.gpu(gpu).launch(this->kernel(gpu, kernel), grid, pointers, stream);
  }

  // Of every GPU, at least so large; valid until one asks for more.
  char* source(int gpu, std::size_t bytes) { return at_least(sources_, gpu, bytes); }
  char* destination(int gpu, std::size_t bytes) { return at_least(destinations_, gpu, bytes); }

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
  void reserve(std::size_t bytes);
  char* at_least(std::vector<Memory>& memory, int gpu, std::size_t bytes);
  Kernel kernel(int gpu, const char* name);

  Bench& bench_;
  Runtime& runtime_;
  std::map<GemmKey, std::vector<Prepared>> gemms_;
  std::size_t gemm_bytes_ = 0;
  std::map<int, std::vector<std::unique_ptr<Communicator>>> communicators_;  // by channels
  std::vector<Memory> sources_, destinations_;
  std::vector<std::map<std::string, Kernel>> kernels_;
};

}  // namespace c3sim::measure
