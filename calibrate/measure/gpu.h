// Gpu is the thin interface over CUDA and HIP by which measurements see one GPU. One thread at a time uses a GPU, after
// make_current(); calls that enqueue work return before it is done. Whatever fails throws GpuError.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace c3sim::measure {

inline constexpr std::size_t bytes_of_bfloat16 = 2;

struct Device {
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "sm_90", "gfx942"
  int cus = 0;
  std::size_t memory = 0;           // bytes
  std::size_t local_memory = 0;     // the most that a workgroup can have, in bytes
  double ticks_per_second = 1e9;    // of the clock that kernels read
  std::optional<double> power_cap;  // W
  std::optional<double> top_clock;  // highest clock of the CUs, in MHz
};

// These are handles of the runtime's own objects, which live as long as their GPU.
enum class Stream : std::uintptr_t {};
enum class Event : std::uintptr_t {};
enum class Kernel : std::uintptr_t {};
enum class Graph : std::uintptr_t {};

enum class Home { gpu, host };  // where memory is; copy engines can reach that of the host

struct Grid {
  int workgroups = 1;
  int threads = 1;               // per workgroup
  std::size_t local_memory = 0;  // per workgroup, in bytes
};

// A GEMM computes C (m x n) = A (m x k) times B (k x n) on row-major matrices in bf16, with sums in fp32.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  auto operator<=>(const GemmShape&) const = default;
};
struct Matrices {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void launch(Stream stream) = 0;
};

enum class Collective { all_gather, all_to_all, all_reduce, reduce_scatter, broadcast };

// A Communicator is one GPU's part in a group of GPUs. `bytes` is the whole array of one GPU.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual void launch(Collective collective, const void* source, void* destination, std::size_t bytes,
                      Stream stream) = 0;
};
using GroupName = std::array<char, 128>;  // shared by the members of a group

// A BoardState is what a board reports at one moment.
struct BoardState {
  double power = 0.0;  // W
  double clock = 0.0;  // of the CUs, in MHz
};

// An EngineCopy has the phases of a copy by one engine, by the engine's own time stamps, in us.
struct EngineCopy {
  double start = 0.0;  // from the call until the engine begins
  double data = 0.0;   // until the engine ends
  double seen = 0.0;   // until the host knows of the end
};

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const Device& device() const = 0;
  virtual void make_current() = 0;

  virtual void* allocate(std::size_t bytes, Home home) = 0;
  virtual void release(void* memory, Home home) noexcept = 0;
  virtual void reach(Gpu& peer) = 0;  // lets it copy to and from the peer's memory

  // With `cus`, kernels of the stream use at most as many CUs, from `first` on, where the runtime supports it.
  virtual Stream create_stream(std::optional<int> cus = {}, int first = 0) = 0;
  virtual Event create_event() = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual bool done(Event event) = 0;
  virtual double microseconds(Event from, Event to) = 0;

  // Copies among GPUs and host memory.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void fill(void* memory, unsigned char byte, std::size_t bytes, Stream stream) = 0;
  virtual Kernel kernel(const std::string& name) = 0;  // from device/kernels.cu
  virtual void launch(Kernel kernel, Grid grid, void** arguments, Stream stream) = 0;
  virtual Graph capture(Stream stream, const std::function<void()>& enqueue) = 0;
  virtual void launch(Graph graph, Stream stream) = 0;
  virtual void release(Graph graph) noexcept = 0;

  // The kernel uses at most `cus` CUs; where streams limit CUs, it has to run on a stream with the same limit.
  virtual std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int> cus) = 0;
  // All members call it at once. `channels` is the number of workgroups of the kernels; with 0 the library chooses.
  virtual std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) = 0;

  virtual std::optional<BoardState> board() = 0;  // none if unknown; any thread may call it
  // Returns the engines that can copy to the peer, the preferred ones first; none where the runtime does not tell.
  virtual std::vector<int> copy_engines(Gpu& peer) = 0;
  virtual EngineCopy copy_on_engine(int engine, Gpu& peer, void* to, const void* from, std::size_t bytes) = 0;
};

// A Runtime reaches the GPUs of this machine through one vendor's libraries.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual int gpus() const = 0;
  virtual std::unique_ptr<Gpu> open(int gpu) = 0;
  virtual std::vector<std::string> versions() const = 0;  // of driver and libraries: "driver 580.159"
  virtual std::vector<std::string> missing() const = 0;   // what cannot be measured for lack of a library
  virtual GroupName name_group() = 0;
};

// Open a vendor's runtime; look for libraries in `folders` first. Throw GpuError where the driver is missing.
std::unique_ptr<Runtime> open_cuda(const std::vector<std::string>& folders);
std::unique_ptr<Runtime> open_hip(const std::vector<std::string>& folders);

// A GpuError is a failure on a GPU or in its libraries; its kind tells what to do about it.
class GpuError : public std::runtime_error {
 public:
  enum class Kind {
    unsupported,  // this machine or library lacks it: what asks for it is left out
    failed,       // a call failed; others may work
    hang,         // work on a GPU does not end, so that nothing more can be asked of it
    lost          // a GPU no longer answers
  };

  template <class... Parts>
  GpuError(Kind kind, fmt::format_string<Parts...> text, Parts&&... parts)
      : std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...)), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// A UserError is what the user can fix: an option, a file, a folder. The program ends with code 2.
class UserError : public std::runtime_error {
 public:
  template <class... Parts>
  explicit UserError(fmt::format_string<Parts...> text, Parts&&... parts)
      : std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...)) {}
};

}  // namespace c3sim::measure
