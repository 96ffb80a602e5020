// The GPUs that take part in measurements, each with a host thread of its own, and the one protocol by which what they
// run is timed.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// One host thread per GPU, as programs have that drive all GPUs of a node from one process.

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

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Every thread does it, with its number, and all have when this returns. What the first of them threw is thrown.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int number);

  std::barrier<> begins_, ended_;
  const std::function<void(int)>* work_ = nullptr;
  std::mutex mutex_;  // of the fault
  std::exception_ptr fault_;
  std::vector<std::jthread> threads_;
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
  static Memory on(Gpu& gpu, std::size_t bytes, Home home = Home::gpu) {
    return {{gpu.allocate(bytes, home), {&gpu, home}}, bytes};
  }

  char* at(std::size_t offset = 0) const { return static_cast<char*>(memory_.get()) + offset; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Release {
    Gpu* gpu;
    Home home;
    void operator()(void* memory) const noexcept { gpu->release(memory, home); }
  };
  using Owned = std::unique_ptr<void, Release>;
  Memory(Owned memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  Owned memory_{nullptr, {}};
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

class Bench {
 public:
  Bench(std::vector<std::unique_ptr<Gpu>> gpus, Protocol protocol);

  int gpus() const { return static_cast<int>(gpus_.size()); }
  Gpu& gpu(int number) { return *gpus_[static_cast<std::size_t>(number)]; }
  const Protocol& protocol() const { return protocol_; }

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

  Stream stream(int gpu, int lane, std::optional<int> cus = {}, int first_cu = 0);
  Event event(int gpu, int number);  // the first few are for whoever needs some for a moment
  // On the GPU's thread: until all that is enqueued is done. GpuError if it does not end.
  void finish(int gpu, Stream stream);
  void await(int gpu, Event event);

 private:
  struct Part {
    std::map<std::tuple<int, int, int>, Stream> streams;  // by lane, CUs, 0 for all, and the first of them
    std::map<int, Event> events;
  };
  struct Run {
    double begin = 0.0, end = 0.0;  // by the host's clock
    double all = 0.0;
    std::vector<double> each;
  };
  Run run_once(int gpu, const std::vector<Operation>& operations);
  Timing timing_of(const std::vector<std::vector<Run>>& runs, std::size_t operations) const;

  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<Part> parts_;
  Protocol protocol_;
  Team team_;
};

// By the host's clock.
double host_microseconds();

// What is known by that key, or what is made for it now.
template <class Key, class Value, class Make>
Value& made_once(std::map<Key, Value>& known, const Key& key, const Make& make) {
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, make()).first->second;
}

}  // namespace c3sim::measure
