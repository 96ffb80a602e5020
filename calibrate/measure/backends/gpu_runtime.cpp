// GPUs of NVIDIA by its driver, cuBLASLt, NCCL and NVML; those of AMD by HIP, HSA, hipBLASLt or rocBLAS, RCCL and the
// files of the amdgpu driver. What both do alike stands first.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "calibrate/measure/backends/backend.h"
#include "calibrate/measure/backends/collective_library.h"
#include "calibrate/measure/backends/gemm_library.h"
#include "calibrate/measure/backends/gpu_calls.h"
#include "calibrate/measure/backends/hsa_engines.h"
#include "calibrate/measure/backends/nvidia_board.h"
#include "calibrate/measure/backends/runtime_compiler.h"

namespace c3sim::measure {

namespace {

struct Libraries {
  Library compiler, collectives;
  GemmLibrary gemms;
};

class VendorGpu : public Gpu {
 public:
  VendorGpu(const GpuCalls& calls, const Libraries& libraries, int number)
      : calls_(calls), libraries_(libraries), number_(number) {
    calls_.device(&handle_, number);
    std::array<char, 128> name{};
    calls_.device_name(name.data(), static_cast<int>(name.size()), handle_);
    device_.name = name.data();
    calls_.device_memory(&device_.memory, handle_);
  }
  VendorGpu(const VendorGpu&) = delete;
  VendorGpu& operator=(const VendorGpu&) = delete;

  const Device& device() const override { return device_; }
  void make_current() override { calls_.set_current(place_); }

  void* allocate(std::size_t bytes, Home home) override {
    constexpr unsigned portable = 1;  // all GPUs can reach it
    void* memory = nullptr;
    if (home == Home::host) {
      calls_.allocate_host(&memory, bytes, portable);
    } else {
      calls_.allocate(&memory, bytes);
    }
    return memory;
  }
  void release(void* memory, Home home) noexcept override {
    calls_.set_current.result(place_);  // whoever lets go may be another thread
    (home == Home::host ? calls_.release_host : calls_.release).result(memory);
  }
  void reach(Gpu& peer) override {
    const auto& other = dynamic_cast<VendorGpu&>(peer);
    int possible = 0;
    calls_.can_access_peer(&possible, handle_, other.handle_);
    if (possible == 0) {
      throw GpuError(GpuError::Kind::unsupported, "GPU {} cannot reach the memory of GPU {}", number_, other.number_);
    }
    calls_.enable_peer.unless(GpuCalls::already_enabled, other.place_, 0);
  }

  Event create_event() override {
    Event event{};
    calls_.create_event(&event, 0);
    return event;
  }
  void record(Event event, Stream stream) override { calls_.record_event(event, stream); }
  void wait(Stream stream, Event event) override { calls_.wait_event(stream, event, 0); }
  bool done(Event event) override { return calls_.query_event.unless(GpuCalls::not_ready, event); }
  double microseconds(Event from, Event to) override {
    float milliseconds = 0.0f;
    calls_.elapsed_time(&milliseconds, from, to);
    return static_cast<double>(milliseconds) * 1e3;
  }

  void fill(void* memory, unsigned char byte, std::size_t bytes, Stream stream) override {
    calls_.fill(memory, byte, bytes, stream);
  }
  Kernel kernel(const std::string& name) override {
    Kernel kernel{};
    calls_.find_function(&kernel, module_, name.c_str());
    return kernel;
  }
  void launch(Kernel kernel, Grid grid, void** arguments, Stream stream) override {
    calls_.launch_kernel(kernel, static_cast<unsigned>(grid.workgroups), 1, 1, static_cast<unsigned>(grid.threads), 1,
                         1, static_cast<unsigned>(grid.local_memory), stream, arguments, nullptr);
  }
  Graph capture(Stream stream, const std::function<void()>& enqueue) override {
    constexpr int of_this_thread = 1;
    calls_.begin_capture(stream, of_this_thread);
    Object graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      calls_.end_capture.result(stream, &graph);
      throw;
    }
    calls_.end_capture(stream, &graph);
    Graph instance{};
    const int result = calls_.instantiate.result(&instance, graph, 0);
    calls_.destroy_graph.result(graph);
    calls_.instantiate.check(result);
    return instance;
  }
  void launch(Graph graph, Stream stream) override { calls_.launch_graph(graph, stream); }
  void release(Graph graph) noexcept override { calls_.destroy_instance.result(graph); }

  std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int> cus) override {
    if (workspace_.memory == nullptr) workspace_.memory = allocate(workspace_.bytes, Home::gpu);
    return libraries_.gemms.prepare(shape, matrices, cus, workspace_);
  }
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) override {
    return join_group(libraries_.collectives, group, rank, members, channels);
  }

 protected:
  // Once the device is described.
  void load_kernels() {
    const std::vector<char> code = compile_kernels(calls_.vendor(), libraries_.compiler, device_.architecture);
    calls_.load_module(&module_, code.data());
  }
  Stream create_plain_stream() {
    constexpr unsigned independent = 1;  // of the stream that is there without being made
    Stream stream{};
    calls_.create_stream(&stream, independent);
    return stream;
  }
  std::string bus_id() const {
    std::array<char, 32> text{};
    calls_.bus_id(text.data(), static_cast<int>(text.size()), handle_);
    return text.data();
  }

  const GpuCalls& calls_;
  int handle_ = 0;
  Place place_{};
  Device device_;
  Workspace workspace_{nullptr, std::size_t{64} << 20};

 private:
  const Libraries& libraries_;
  int number_;
  Object module_ = nullptr;
};

// NVIDIA's limits no stream to SMs: GEMMs are, by their kernel. No program can choose a copy engine.
class NvidiaGpu : public VendorGpu {
 public:
  NvidiaGpu(const GpuCalls& calls, const Libraries& libraries, const Library& boards, int number)
      : VendorGpu(calls, libraries, number), board_(boards, bus_id()) {
    calls_.retain_context(&place_, handle_);
    VendorGpu::make_current();
    device_.architecture = fmt::format("sm_{}{}", attribute(75), attribute(76));  // compute capability
    device_.cus = attribute(16);                                                  // multiprocessors
    most_local_memory_ = attribute(97);                                           // shared memory, if asked for
    device_.local_memory = static_cast<std::size_t>(most_local_memory_);
    device_.ticks_per_second = 1e9;  // of %globaltimer
    device_.power_cap = board_.power_cap();
    device_.top_clock = board_.top_clock();
    load_kernels();
  }
  ~NvidiaGpu() override { calls_.release_context.result(handle_); }  // and all that was made in it

  Stream create_stream(std::optional<int>, int) override { return create_plain_stream(); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    calls_.copy(to, from, bytes, stream);
  }
  Kernel kernel(const std::string& name) override {
    constexpr int most_dynamic_local_memory = 8;
    const Kernel kernel = VendorGpu::kernel(name);
    calls_.set_attribute(kernel, most_dynamic_local_memory, most_local_memory_);
    return kernel;
  }
  std::optional<BoardState> board() override { return board_.state(); }
  std::vector<int> copy_engines(Gpu&) override { return {}; }
  EngineCopy copy_on_engine(int, Gpu&, void*, const void*, std::size_t) override {
    throw GpuError(GpuError::Kind::unsupported, "CUDA lets no program choose a copy engine");
  }

 private:
  int attribute(int which) const {
    int value = 0;
    calls_.attribute(&value, which, handle_);
    return value;
  }

  NvidiaBoard board_;
  int most_local_memory_ = 0;
};

class AmdGpu : public VendorGpu {
 public:
  AmdGpu(const GpuCalls& calls, const Libraries& libraries, const HsaEngines& engines, int number)
      : VendorGpu(calls, libraries, number),
        engines_(engines),
        agent_(engines.agent(lower(bus_id()))),
        board_("/sys/bus/pci/devices/" + agent_.bus_id) {
    place_ = Place{static_cast<std::uintptr_t>(handle_)};
    VendorGpu::make_current();
    device_.architecture = agent_.name;
    device_.cus = agent_.cus;
    device_.local_memory = 65536;    // LDS of every CDNA generation up to 3
    device_.ticks_per_second = 1e8;  // of s_memrealtime on CDNA
    device_.power_cap = board_.power_cap();
    load_kernels();
  }
  ~AmdGpu() override {
    if (workspace_.memory != nullptr) VendorGpu::release(workspace_.memory, Home::gpu);
  }

  // Neighbouring bits of a mask are CUs of different XCDs, so that the first ones are spread evenly.
  Stream create_stream(std::optional<int> cus, int first) override {
    if (!cus) return create_plain_stream();
    constexpr int bits = 32;
    std::vector<std::uint32_t> mask(static_cast<std::size_t>((device_.cus + bits - 1) / bits), 0);
    for (int cu = first; cu < first + *cus; ++cu) mask[static_cast<std::size_t>(cu / bits)] |= 1u << cu % bits;
    Stream stream{};
    calls_.create_masked(&stream, static_cast<std::uint32_t>(mask.size()), mask.data());
    return stream;
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    constexpr int as_addresses_tell = 4;  // hipMemcpyDefault
    calls_.copy_of_kind(to, from, bytes, as_addresses_tell, stream);
  }
  std::optional<BoardState> board() override { return board_.state(); }
  std::vector<int> copy_engines(Gpu& peer) override {
    return engines_.engines(agent_, dynamic_cast<AmdGpu&>(peer).agent_);
  }
  EngineCopy copy_on_engine(int engine, Gpu& peer, void* to, const void* from, std::size_t bytes) override {
    return engines_.copy(engine, agent_, dynamic_cast<AmdGpu&>(peer).agent_, to, from, bytes);
  }

 private:
  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
  }

  const HsaEngines& engines_;
  HsaEngines::Agent agent_;
  AmdBoard board_;
};

class VendorRuntime : public Runtime {
 public:
  VendorRuntime(Vendor vendor, Library driver, Libraries libraries)
      : calls_(vendor, std::move(driver)), libraries_(std::move(libraries)) {
    if (vendor == Vendor::nvidia) calls_.init(0);
  }
  int gpus() const override {
    int count = 0;
    return calls_.device_count.unless(GpuCalls::no_device, &count) ? count : 0;
  }
  GroupName name_group() override { return measure::name_group(libraries_.collectives); }

 protected:
  GpuCalls calls_;
  Libraries libraries_;
};

class NvidiaRuntime : public VendorRuntime {
 public:
  explicit NvidiaRuntime(const std::vector<std::string>& folders)
      : VendorRuntime(Vendor::nvidia, Library::find({"libcuda.so.1"}, folders, cuda_fault),
                      {.compiler = Library::find({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, folders),
                       .collectives = Library::find({"libnccl.so.2", "libnccl.so"}, folders, collective_fault),
                       .gemms = GemmLibrary(Vendor::nvidia, folders)}),
        boards_(Library::find({"libnvidia-ml.so.1"}, folders)) {}

  std::unique_ptr<Gpu> open(int gpu) override { return std::make_unique<NvidiaGpu>(calls_, libraries_, boards_, gpu); }
  std::vector<std::string> versions() const override {
    std::vector<std::string> all;
    const std::string driver = NvidiaBoard::driver_version(boards_);
    if (!driver.empty()) all.push_back("driver " + driver);
    int version = 0;
    calls_.version(&version);
    all.push_back(fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
    if (libraries_.gemms) all.push_back(libraries_.gemms.name());
    if (libraries_.collectives) {
      const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
      all.push_back(fmt::format("NCCL {} with NCCL_NVLS_ENABLE={}", version_of_collectives(libraries_.collectives),
                                multicast == nullptr ? "" : multicast));
    }
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all;
    if (!libraries_.gemms) all.emplace_back("libcublasLt was not found: no GEMMs");
    if (!libraries_.collectives) all.emplace_back("libnccl was not found: no collectives by kernels");
    if (!boards_) all.emplace_back("libnvidia-ml was not found: no power and no clocks");
    return all;
  }

 private:
  Library boards_;
};

class AmdRuntime : public VendorRuntime {
 public:
  explicit AmdRuntime(const std::vector<std::string>& folders)
      : VendorRuntime(Vendor::amd, Library::find_newest("libamdhip64.so", folders, hip_fault),
                      {.compiler = compiler(folders),
                       .collectives = Library::find_newest("librccl.so", folders, collective_fault),
                       .gemms = GemmLibrary(Vendor::amd, folders)}),
        engines_(folders) {}

  std::unique_ptr<Gpu> open(int gpu) override { return std::make_unique<AmdGpu>(calls_, libraries_, engines_, gpu); }
  std::vector<std::string> versions() const override {
    constexpr int major = 10'000'000, minor = 100'000;
    std::vector<std::string> all;
    std::ifstream driver("/sys/module/amdgpu/version");
    std::string amdgpu;
    if (driver >> amdgpu) all.push_back("amdgpu " + amdgpu);
    int version = 0;
    calls_.version(&version);
    all.push_back(fmt::format("HIP {}.{}.{}", version / major, version % major / minor, version % minor));
    if (libraries_.gemms) all.push_back(libraries_.gemms.name());
    if (libraries_.collectives) all.push_back("RCCL " + version_of_collectives(libraries_.collectives));
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all;
    if (!libraries_.gemms) all.emplace_back("neither libhipblaslt nor librocblas was found: no GEMMs");
    if (!libraries_.collectives) all.emplace_back("librccl was not found: no collectives by kernels");
    if (!engines_.can_choose()) {
      all.emplace_back("libhsa-runtime64 lets no program choose a copy engine: no engines one by one");
    }
    return all;
  }

 private:
  // hipRTC was a part of the runtime once.
  static Library compiler(const std::vector<std::string>& folders) {
    const Library own = Library::find_newest("libhiprtc.so", folders);
    return own ? own : Library::find_newest("libamdhip64.so", folders);
  }

  HsaEngines engines_;
};

}  // namespace

std::unique_ptr<Runtime> open_cuda(const std::vector<std::string>& folders) {
  // Multicast through the switch would reduce in the network, which no platform models; and not every host allows it.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  std::vector<std::string> all = folders;
  all.insert(all.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"});
  return std::make_unique<NvidiaRuntime>(all);
}

std::unique_ptr<Runtime> open_hip(const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  all.emplace_back("/opt/rocm/lib");
  return std::make_unique<AmdRuntime>(all);
}

}  // namespace c3sim::measure
