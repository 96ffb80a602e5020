// The Lab holds the GPUs that take part in measurements, each with a host thread of its own, and what they run, which
// is made ready once and run many times. All runs are timed by one protocol.
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

inline constexpr std::size_t bytes_of_word = 16;  // loaded at once by a thread of device/kernels.cu

// Threads wait for one another at a Rendezvous, over and over. They spin, so that all go on within a microsecond.
class Rendezvous {
 public:
  explicit Rendezvous(int threads) : threads_(threads) {}

  // Waits until all threads have arrived; the last one calls `then` first. Returns false if a thread gave up.
  bool arrive(const std::function<void()>& then = {});
  void give_up() { given_up_ = true; }

 private:
  int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<int> round_{0};
  std::atomic<bool> given_up_{false};
};

// Calls `work` on as many threads, with the number of each, as programs do that drive all GPUs of a node from one
// process, and waits for all. Rethrows the first exception.
void on_threads(int threads, const std::function<void(int)>& work);

// A Summary describes the values of repetitions.
struct Summary {
  double median = 0.0;
  double low = 0.0;   // 10th percentile
  double high = 0.0;  // 90th percentile
  std::size_t count = 0;
};

// Interpolates percentiles between neighbouring values. All members are 0 if there is no value.
Summary summarize(std::vector<double> values);

// A Protocol says how runs are repeated: back to back, all GPUs together behind a barrier of their threads.
struct Protocol {
  int counted = 9;
  int least_warm_ups = 3;
  std::chrono::duration<double> warm_up{0.02};     // least duration
  std::chrono::duration<double> hot_warm_up{0.5};  // the same with GEMMs, whose clock the board lowers after a while
  std::chrono::duration<double> rest{1.0};         // idle time before work that is to begin cold
  std::chrono::duration<double> patience{20.0};    // time after which work counts as hung
  double brevity = 1.0;                            // scales the duration of sustained work; 0.5 is half as long
};

// Memory owns an allocation on one GPU, or on the host for that GPU.
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

// An Operation is what every GPU enqueues in a run.
struct Operation {
  std::function<void(int gpu, Stream stream)> launch;
  int lane = 0;              // operations of one lane follow each other, those of different lanes run at once
  std::optional<int> cus{};  // number of CUs for its lane, where the runtime supports it
  int first_cu = 0;          // the first of these CUs
  bool hot = false;          // it runs a GEMM, see hot_warm_up
};

// A Timing is in microseconds; each run counts with its slowest GPU.
struct Timing {
  Summary all;                // by events, from before the first launch until after the last work
  Summary wall;               // by the host's clock, from the first thread's begin to the last one's end
  std::vector<Summary> each;  // by events, of every operation from its own begin to its own end
};

enum class Operands { normal, zero };  // contents of matrices, on which the power of a GEMM depends

// A Hog occupies CUs: it only stays there, multiplies and adds, reads what caches hold, or streams through memory.
enum class Hog { stay, fma, cache, memory };

class Lab {
 public:
  Lab(std::vector<std::unique_ptr<Gpu>> gpus, const Protocol& protocol, Runtime& runtime);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  int gpus() const { return static_cast<int>(stations_.size()); }
  Gpu& gpu(int number) { return *station(number).gpu; }
  const Protocol& protocol() const { return protocol_; }

  // Calls `work` on the thread of every GPU and waits for all.
  void each(const std::function<void(int gpu)>& work);
  // Calls `turn` on the threads of these GPUs (none named: all), over and over and together, as long as `goes_on`,
  // which one of them calls when all have arrived, returns true.
  void repeat(const std::vector<int>& on, const std::function<bool()>& goes_on,
              const std::function<void(int gpu)>& turn);
  // Calls `work` on the thread of one GPU and waits for it.
  void on(int gpu, const std::function<void()>& work);

  // Times the operations, launched in their order, over and over on these GPUs (none named: all).
  Timing time(const std::vector<Operation>& operations, const std::vector<int>& on = {});
  // Summarizes, by name, the figures that `measured` returns each time on the thread of one GPU, after warm-ups.
  std::map<std::string, Summary> sample(int gpu, const std::function<std::map<std::string, double>()>& measured);
  // Records what the operation enqueues in a graph on these GPUs (none named: all), and calls `timed` with an operation
  // that replays the graph.
  void replay(const Operation& operation, const std::vector<int>& on,
              const std::function<void(const Operation& replayed)>& timed);

  Stream stream(int gpu, int lane, std::optional<int> cus = {}, int first_cu = 0);
  Event event(int gpu, int number);  // small numbers are for short-lived use
  // Both wait, on the GPU's thread, until the stream's work or the event is done. Throw GpuError if it does not end.
  void finish(int gpu, Stream stream);
  void await(int gpu, Event event);

  // Returns a GEMM on every GPU, in lane 0. It stays valid until later ones run short of memory.
  Operation gemm(GemmShape shape, std::optional<int> cus = {}, Operands operands = Operands::normal);
  // Returns a collective by kernels, in lane 1, on an array of `bytes` per GPU; with 0 `channels` the library chooses.
  Operation collective(Collective kind, std::size_t bytes, int channels = 0);
  // Returns a collective by copies, in lane 1: every GPU pushes to its peers, on a stream for each or, `in_a_row`, on
  // one. Throws GpuError except for all-gather, all-to-all, and broadcast from GPU 0: the others compute.
  Operation copies(Collective kind, std::size_t bytes, bool in_a_row = false);
  // Returns a kernel on every GPU that streams `passes` times through arrays of `bytes` in total: it reads `reads` of
  // them, 0 to 2, and writes `written`, 0 or 1.
  Operation streaming(std::size_t bytes, int reads, int written, int passes = 1);
  // Returns a hog on every GPU, in lane 2: `workgroups` of 1024 threads work until stop_hogs() of the same run, or for
  // `most_us` microseconds.
  Operation hog(Hog what, int workgroups, double most_us);
  Operation stop_hogs(int lane);
  // Returns one workgroup that stays for `us` microseconds and so delays what follows it in its lane.
  Operation pause(int lane, double us);
  // Calls `copy` for each of `copies` with a lane, from `first_lane` on, that forks from the stream and joins it again.
  void at_once(int gpu, Stream stream, int first_lane, int copies, const std::function<void(int, Stream)>& copy);
  // Launches a kernel of device/kernels.cu.
  template <class... Arguments>
  void launch(int gpu, const char* kernel, Grid grid, Stream stream, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    this->gpu(gpu).launch(this->kernel(gpu, kernel), grid, pointers, stream);
  }
  std::uint64_t ticks(int gpu, double us) {  // in ticks of the clock that kernels read
    return static_cast<std::uint64_t>(us * 1e-6 * this->gpu(gpu).device().ticks_per_second);
  }

  // source() and destination() return an array of a GPU of at least `bytes`, valid until a larger one is asked for.
  // reserve() allocates them on all GPUs, which is due before GPUs write to each other's.
  char* source(int gpu, std::size_t bytes) { return at_least(station(gpu).source, gpu, bytes); }
  char* destination(int gpu, std::size_t bytes) { return at_least(station(gpu).destination, gpu, bytes); }
  void reserve(std::size_t at_sources, std::size_t at_destinations);

 private:
  struct Prepared {
    Memory a, b, c;
    std::unique_ptr<Gemm> gemm;
  };
  using GemmKey = std::tuple<GemmShape, int, Operands>;
  // A Station is all that the lab keeps for one GPU.
  struct Station {
    std::unique_ptr<Gpu> gpu;
    std::map<std::tuple<int, int, int>, Stream> streams;  // by lane, number of CUs (0: all) and first CU
    std::map<int, Event> events;
    std::map<std::string, Kernel> kernels;
    Memory source, destination;
    Memory flag;    // hogs watch it
    Memory log;     // pauses write to it
    Graph graph{};  // replay() launches it
    std::map<GemmKey, Prepared> gemms;
    std::map<int, std::unique_ptr<Communicator>> communicators;  // by channels
  };

  Station& station(int gpu) { return stations_[static_cast<std::size_t>(gpu)]; }
  std::vector<double> run_once(int gpu, const std::vector<Operation>& operations);
  Prepared prepare(int gpu, GemmShape shape, std::optional<int> cus, Operands operands);
  void forget_gemms();
  void push(int gpu, Collective kind, std::size_t bytes, Stream stream, bool in_a_row);
  void fill_normal(int gpu, const Memory& memory, std::uint64_t seed, Stream stream);  // bf16 random numbers
  char* at_least(Memory& memory, int gpu, std::size_t bytes);
  Kernel kernel(int gpu, const char* name);

  std::vector<Station> stations_;
  Protocol protocol_;
  Runtime& runtime_;
  std::size_t gemm_bytes_ = 0;  // matrices of all GEMMs of one GPU
};

// Returns the time of the host's steady clock.
double host_microseconds();

// A BoardMean is the mean of what boards report in the second half of a sustained run.
struct BoardMean {
  BoardState state;
  std::size_t samples = 0;
};

struct Sustained {
  double time = 0.0;              // of one run, in us: mean over GPUs in the second half
  double period = 0.0;            // from one run to the next, in us, pauses included
  BoardMean all;                  // mean of all GPUs
  std::vector<BoardMean> boards;  // by GPU
};

// After a rest, runs the operation for `seconds`, scaled by the lab's brevity, on these GPUs (none named: all), so that
// power and clocks settle: in batches of some 50 ms without a break or, with a `pause`, one by one. Between batches the
// GPUs wait for one another and for the pause. Throws GpuError where boards report nothing.
Sustained sustain(Lab& lab, const Operation& operation, double seconds, const std::vector<int>& on = {},
                  std::optional<std::chrono::duration<double>> pause = {});

// Returns the means of GPUs that do nothing for two rests, over the second of these.
Sustained sustain_rest(Lab& lab);

}  // namespace c3sim::measure
