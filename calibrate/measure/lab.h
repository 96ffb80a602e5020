// The GPUs that take part in measurements, each with a host thread of its own, what they run, made ready once and run
// many times, and the one protocol by which it is timed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

inline constexpr std::size_t bytes_of_word = 16;  // that threads of device/kernels.cu load at once

// Where threads wait for one another, over and over, without sleeping: GPUs are then launched on within a microsecond.
class Rendezvous {
 public:
  explicit Rendezvous(int threads) : threads_(threads) {}

  // The last to arrive does `then` before all go on. False where one of them gave up.
  bool arrive(const std::function<void()>& then = {});
  void give_up() { given_up_ = true; }

 private:
  int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<int> round_{0};
  std::atomic<bool> given_up_{false};
};

// A host thread for each GPU, as programs have that drive all GPUs of a node from one process.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {}
  // Every thread does it, with its number, and all have when this returns. What the first of them threw is thrown.
  void run(const std::function<void(int)>& work) const;

 private:
  int threads_;
};

// What repetitions come to.
struct Summary {
  double median = 0.0;
  double low = 0.0;   // 10th percentile
  double high = 0.0;  // 90th percentile
  std::size_t count = 0;
};

// Between neighbours percentiles are interpolated. All is 0 where there is no value.
Summary summarize(std::vector<double> values);

// How runs are repeated: back to back, all GPUs together behind a barrier of their threads.
struct Protocol {
  int counted = 9;
  int least_warm_ups = 3;
  std::chrono::duration<double> warm_up{0.02};     // at least so long
  std::chrono::duration<double> hot_warm_up{0.5};  // with GEMMs, whose clock the board lowers after a while
  std::chrono::duration<double> rest{1.0};         // before what is to begin cold
  std::chrono::duration<double> patience{20.0};    // with work that does not end
};

// Memory of one GPU, or of the host for it.
class Memory {
 public:
  Memory() = default;
  Memory(Gpu& gpu, std::size_t bytes, Home home = Home::gpu)
      : memory_(static_cast<char*>(gpu.allocate(bytes, home)), {&gpu, home}), bytes_(bytes) {}

  char* at(std::size_t offset = 0) const { return memory_.get() + offset; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Release {
    Gpu* gpu;
    Home home;
    void operator()(char* memory) const noexcept { gpu->release(memory, home); }
  };
  std::unique_ptr<char, Release> memory_;
  std::size_t bytes_ = 0;
};

// What every GPU enqueues in a run.
struct Operation {
  std::function<void(int gpu, Stream stream)> launch;
  int lane = 0;              // operations of one lane follow each other, others run at once
  std::optional<int> cus{};  // that its lane may use, where the runtime can see to it ...
  int first_cu = 0;          // ... from this one on
  bool hot = false;          // a GEMM
};

// In microseconds, of the slowest GPU in each run.
struct Timing {
  Summary all;                // from before the first launch until after the last work
  Summary wall;               // the same by the host's clock, from the first thread's begin to the last one's end
  std::vector<Summary> each;  // of every operation, from its own begin to its own end
};

enum class Operands { normal, zero };  // what the matrices hold: it decides what they cost in power

// What a hog does: it stays on its CUs, multiplies and adds, reads what caches hold, or streams through memory.
enum class Hog { stay, fma, cache, memory };

class Lab {
 public:
  // `brevity`: of what lasts seconds; 0.5 is half as long.
  Lab(std::vector<std::unique_ptr<Gpu>> gpus, Protocol protocol, Runtime& runtime, double brevity);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  int gpus() const { return static_cast<int>(stations_.size()); }
  Gpu& gpu(int number) { return *station(number).gpu; }
  const Protocol& protocol() const { return protocol_; }
  double brevity() const { return brevity_; }

  // On the thread of every GPU.
  void each(const std::function<void(int gpu)>& work);
  // On the threads of these GPUs (none named: all), over and over and together: as long as `goes_on`, which one of them
  // asks when all have arrived.
  void repeat(const std::vector<int>& on, const std::function<bool()>& goes_on,
              const std::function<void(int gpu)>& turn);
  // On the thread of one GPU.
  void on(int gpu, const std::function<void()>& work);

  // Runs the operations, launched in their order, over and over on these GPUs (none named: all).
  Timing time(const std::vector<Operation>& operations, const std::vector<int>& on = {});
  // Summarizes figures by name, which `measured` tells again and again on the thread of one GPU, after warm-ups.
  std::map<std::string, Summary> sample(int gpu, const std::function<std::map<std::string, double>()>& measured);
  // Gives `timed` an operation that replays what this one enqueues, recorded once on these GPUs (none named: all), and
  // returns what it finds.
  template <class Timed>
  auto replay(const Operation& operation, const std::vector<int>& on, const Timed& timed) {
    record(operation, on);
    const auto launch = [this](int gpu, Stream stream) { this->gpu(gpu).launch(station(gpu).graph, stream); };
    auto result = timed(Operation{.launch = launch, .lane = operation.lane});
    forget_graphs(on);
    return result;
  }

  Stream stream(int gpu, int lane, std::optional<int> cus = {}, int first_cu = 0);
  Event event(int gpu, int number);  // the first few are for whoever needs some for a moment
  // On the GPU's thread: until all that is enqueued is done. GpuError if it does not end.
  void finish(int gpu, Stream stream);
  void await(int gpu, Event event);

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
  // A kernel of device/kernels.cu.
  template <class... Arguments>
  void launch(int gpu, const char* kernel, Grid grid, Stream stream, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    this->gpu(gpu).launch(this->kernel(gpu, kernel), grid, pointers, stream);
  }
  std::uint64_t ticks(int gpu, double us) {  // of the clock that kernels read
    return static_cast<std::uint64_t>(us * 1e-6 * this->gpu(gpu).device().ticks_per_second);
  }

  // Of every GPU, at least so large; valid until one asks for more. And on all of them, before one that others write to
  // is needed.
  char* source(int gpu, std::size_t bytes) { return at_least(station(gpu).source, gpu, bytes); }
  char* destination(int gpu, std::size_t bytes) { return at_least(station(gpu).destination, gpu, bytes); }
  void reserve(std::size_t at_sources, std::size_t at_destinations);

 private:
  struct Prepared {
    Memory a, b, c;
    std::unique_ptr<Gemm> gemm;
  };
  using GemmKey = std::tuple<GemmShape, int, Operands>;
  // What one GPU has.
  struct Station {
    std::unique_ptr<Gpu> gpu;
    std::map<std::tuple<int, int, int>, Stream> streams;  // by lane, CUs, 0 for all, and the first of them
    std::map<int, Event> events;
    std::map<std::string, Kernel> kernels;
    Memory source, destination;
    Memory flag;    // that hogs watch
    Memory log;     // what pauses write down
    Graph graph{};  // that replay() launches
    std::map<GemmKey, Prepared> gemms;
    std::map<int, std::unique_ptr<Communicator>> communicators;  // by channels
  };

  Station& station(int gpu) { return stations_[static_cast<std::size_t>(gpu)]; }
  std::vector<double> run_once(int gpu, const std::vector<Operation>& operations);
  void record(const Operation& operation, const std::vector<int>& on);
  void forget_graphs(const std::vector<int>& on);
  Prepared prepare(int gpu, GemmShape shape, std::optional<int> cus, Operands operands);
  void forget_gemms();
  void push(int gpu, Collective kind, std::size_t bytes, Stream stream, bool in_a_row);
  void fill_normal(int gpu, const Memory& memory, std::uint64_t seed, Stream stream);  // bf16 random numbers
  char* at_least(Memory& memory, int gpu, std::size_t bytes);
  Kernel kernel(int gpu, const char* name);

  std::vector<Station> stations_;
  Protocol protocol_;
  Team team_;
  Runtime& runtime_;
  double brevity_;
  std::size_t gemm_bytes_ = 0;  // of the GEMMs of one GPU
};

// By the host's clock.
double host_microseconds();

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
Sustained sustain_rest(Lab& lab);

}  // namespace c3sim::measure
