#include "tests/calibrate/measure/fake_runtime.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

namespace {

constexpr double launch_us = 5.0;          // before any work begins
constexpr double bytes_per_us = 1e5;       // of a copy
constexpr double operations_per_us = 5e8;  // of a GEMM
constexpr double gathered_per_us = 2e5;    // bytes of a collective
constexpr std::size_t small = 1 << 20;     // memory below that is written for real

class FakeGpu;

class FakeGemm : public Gemm {
 public:
  FakeGemm(FakeGpu& gpu, double time) : gpu_(gpu), time_(time) {}
  void launch(Stream stream) override;

 private:
  FakeGpu& gpu_;
  double time_;
};

class FakeCommunicator : public Communicator {
 public:
  explicit FakeCommunicator(FakeGpu& gpu) : gpu_(gpu) {}
  void launch(Collective, const void*, void*, std::size_t bytes, Stream stream) override;

 private:
  FakeGpu& gpu_;
};

class FakeGpu : public Gpu {
 public:
  FakeGpu(const FakeMachine& machine, int number) : machine_(machine), number_(number) {
    device_ = {.name = machine.name,
               .architecture = "fake",
               .cus = 64,
               .memory = std::size_t{64} << 30,
               .local_memory = 65536,
               .ticks_per_second = 1e9,
               .power_cap = 500.0,
               .top_clock = 2000.0};
  }

  const Device& device() const override { return device_; }
  void make_current() override { call("make_current"); }

  void* allocate(std::size_t bytes, Home) override {
    call("allocate");
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw GpuError(GpuError::Kind::unsupported, "out of memory");
    sizes_[memory] = bytes;
    return memory;
  }
  void release(void* memory, Home) noexcept override {
    munmap(memory, sizes_[memory]);
    sizes_.erase(memory);
  }
  void reach(Gpu&) override { call("reach"); }

  Stream create_stream(std::optional<int>, int) override {
    call("create_stream");
    return Stream{++streams_};
  }
  Event create_event() override { return Event{++events_}; }
  void record(Event event, Stream stream) override {
    call("record");
    recorded_[event] = moment(stream);
  }
  void wait(Stream stream, Event event) override { now_[stream] = std::max(moment(stream), recorded_[event]); }
  bool done(Event event) override {
    call("done");
    if (!machine_.ends(number_)) return false;
    seen_ = std::max(seen_, recorded_[event]);
    return true;
  }
  double microseconds(Event from, Event to) override { return recorded_[to] - recorded_[from]; }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    call("copy");
    if (bytes <= small) std::memmove(to, from, bytes);
    pass(stream, static_cast<double>(bytes) / bytes_per_us);
  }
  void fill(void* memory, unsigned char byte, std::size_t bytes, Stream) override {
    if (bytes <= small) std::memset(memory, byte, bytes);
  }
  Kernel kernel(const std::string& name) override {
    names_.push_back(name);
    return Kernel{names_.size() - 1};
  }
  void launch(Kernel kernel, Grid grid, void** arguments, Stream stream) override {
    const std::string& name = names_.at(static_cast<std::size_t>(kernel));
    call(name);
    if (name == "chase_under_load") chase(arguments);
    if (name == "stay") stay(grid, arguments, stream);
    pass(stream, 1.0);
  }
  Graph capture(Stream stream, const std::function<void()>& enqueue) override {
    call("capture");
    const double before = moment(stream);
    enqueue();
    graphs_.push_back(now_[stream] - before);
    now_[stream] = before;
    return Graph{graphs_.size() - 1};
  }
  void launch(Graph graph, Stream stream) override { pass(stream, graphs_.at(static_cast<std::size_t>(graph))); }
  void release(Graph) noexcept override {}

  std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices, std::optional<int> cus) override {
    call("prepare_gemm");
    const double share = static_cast<double>(cus.value_or(device_.cus)) / device_.cus;
    return std::make_unique<FakeGemm>(
        *this, 2.0 * static_cast<double>(shape.m * shape.n) * static_cast<double>(shape.k) / operations_per_us / share);
  }
  std::unique_ptr<Communicator> join(const GroupName&, int, int, int) override {
    call("join");
    return std::make_unique<FakeCommunicator>(*this);
  }

  std::optional<BoardState> board() override {
    if (!machine_.boards) return {};
    return BoardState{300.0, 1500.0};
  }
  std::vector<int> copy_engines(Gpu&) override {
    std::vector<int> engines;
    for (int engine = 0; engine < machine_.engines; ++engine) engines.push_back(engine);
    return engines;
  }
  EngineCopy copy_on_engine(int, Gpu&, void*, const void*, std::size_t bytes) override {
    call("copy_on_engine");
    return {launch_us, static_cast<double>(bytes) / bytes_per_us, 1.0};
  }

  void pass(Stream stream, double time) { now_[stream] = moment(stream) + launch_us + time; }
  void call(const std::string& name) const { machine_.before(number_, name); }

 private:
  // Work begins no earlier than the last end that the host has seen.
  double moment(Stream stream) { return std::max(now_[stream], seen_); }

  struct Outcome {
    std::uint64_t chase_ticks, streamed_bytes, stream_ticks;
    std::uint32_t stop;
  };
  struct Stay {
    std::uint64_t begin, end, cu;
  };

  // Each of 16000 loads takes 500 ns beside a stream of 1 TB/s.
  void chase(void** arguments) const {
    auto* const outcome = *static_cast<Outcome**>(arguments[4]);
    *outcome = {.chase_ticks = 8000000, .streamed_bytes = 8000000000, .stream_ticks = 8000000, .stop = 1};
  }
  // Workgroups run one on each CU, one after another.
  void stay(Grid grid, void** arguments, Stream stream) {
    auto* const log = *static_cast<Stay**>(arguments[0]);
    const std::uint64_t ticks = *static_cast<std::uint64_t*>(arguments[1]);
    const auto start = static_cast<std::uint64_t>(1000.0 * moment(stream));
    for (int i = 0; i < grid.workgroups; ++i) {
      const std::uint64_t begin = start + ticks * static_cast<std::uint64_t>(i / device_.cus);
      log[i] = {begin, begin + ticks, static_cast<std::uint64_t>(i % device_.cus)};
    }
  }

  const FakeMachine& machine_;
  int number_;
  Device device_;
  std::uintptr_t streams_ = 0, events_ = 0;
  std::map<Stream, double> now_;
  std::map<Event, double> recorded_;
  double seen_ = 0.0;
  std::map<void*, std::size_t> sizes_;
  std::vector<std::string> names_;
  std::vector<double> graphs_;
};

void FakeGemm::launch(Stream stream) {
  gpu_.call("gemm");
  gpu_.pass(stream, time_);
}

void FakeCommunicator::launch(Collective, const void*, void*, std::size_t bytes, Stream stream) {
  gpu_.call("collective");
  gpu_.pass(stream, static_cast<double>(bytes) / gathered_per_us);
}

class FakeRuntime : public Runtime {
 public:
  explicit FakeRuntime(FakeMachine machine) : machine_(std::move(machine)) {}
  int gpus() const override { return machine_.gpus; }
  std::unique_ptr<Gpu> open(int gpu) override { return std::make_unique<FakeGpu>(machine_, gpu); }
  std::vector<std::string> versions() const override { return {"driver " + machine_.driver}; }
  std::vector<std::string> missing() const override { return {}; }
  GroupName name_group() override { return {}; }

 private:
  FakeMachine machine_;
};

}  // namespace

std::unique_ptr<Runtime> open_fake(FakeMachine machine) { return std::make_unique<FakeRuntime>(std::move(machine)); }

}  // namespace c3sim::measure
