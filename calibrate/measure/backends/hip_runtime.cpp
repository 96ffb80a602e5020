// GPUs by HIP, HSA, hipBLASLt or rocBLAS, RCCL and the files of the amdgpu driver.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "calibrate/measure/backends/amd_board.h"
#include "calibrate/measure/backends/backend.h"
#include "calibrate/measure/backends/collective_library.h"
#include "calibrate/measure/backends/hip_compiler.h"
#include "calibrate/measure/backends/hip_driver.h"
#include "calibrate/measure/backends/hip_engines.h"
#include "calibrate/measure/backends/hip_gemm.h"
#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

constexpr std::size_t gemm_workspace = std::size_t{64} << 20;
constexpr std::size_t local_memory_of_cu = 65536;  // LDS of every CDNA generation up to 3
constexpr double ticks_per_second = 1e8;           // of s_memrealtime on CDNA

struct HipLibraries {
  Library compiler;
  HipGemmLibraries gemms;
  CollectiveLibrary collectives;
  HsaEngines engines;
};

hipStream_t of(Stream stream) { return reinterpret_cast<hipStream_t>(stream); }
hipEvent_t of(Event event) { return reinterpret_cast<hipEvent_t>(event); }

class HipGpu : public Gpu {
 public:
  HipGpu(const HipDriver& hip, const HipLibraries& libraries, int number)
      : hip_(hip),
        libraries_(libraries),
        number_(number),
        agent_(libraries.engines.agent(bus_id())),
        board_("/sys/bus/pci/devices/" + agent_.bus_id) {
    make_current();
    describe();
    const std::vector<char> code = compile_for_hip(libraries_.compiler, kernel_source(), device_.architecture);
    hip_.check(hip_.load_module(&module_, code.data()), "hipModuleLoadData");
  }
  ~HipGpu() override {
    if (workspace_ != nullptr) release(workspace_);
  }
  HipGpu(const HipGpu&) = delete;
  HipGpu& operator=(const HipGpu&) = delete;

  const Device& device() const override { return device_; }
  void make_current() override { hip_.check(hip_.set_device(number_), "hipSetDevice"); }

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    hip_.check(hip_.allocate(&memory, bytes), "hipMalloc");
    return memory;
  }
  void release(void* memory) noexcept override { static_cast<void>(hip_.release(memory)); }
  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    hip_.check(hip_.allocate_host(&memory, bytes, hipHostMallocPortable), "hipHostMalloc");
    return memory;
  }
  void release_host(void* memory) noexcept override { static_cast<void>(hip_.release_host(memory)); }
  void reach(Gpu& peer) override {
    const auto& other = dynamic_cast<HipGpu&>(peer);
    int possible = 0;
    hip_.check(hip_.can_access_peer(&possible, number_, other.number_), "hipDeviceCanAccessPeer");
    if (possible == 0) {
      throw GpuError(GpuError::Kind::unsupported,
                     fmt::format("GPU {} cannot reach the memory of GPU {}", number_, other.number_));
    }
    const hipError_t result = hip_.enable_peer(other.number_, 0);
    if (result != hipErrorPeerAccessAlreadyEnabled) hip_.check(result, "hipDeviceEnablePeerAccess");
  }

  // Neighbouring bits of a mask are CUs of different XCDs, so that the first ones are spread evenly.
  Stream create_stream(std::optional<int> cus, int first) override {
    hipStream_t stream = nullptr;
    if (cus) {
      constexpr int bits = 32;
      std::vector<std::uint32_t> mask(static_cast<std::size_t>((device_.cus + bits - 1) / bits), 0);
      for (int cu = first; cu < first + *cus; ++cu) mask[static_cast<std::size_t>(cu / bits)] |= 1u << cu % bits;
      hip_.check(hip_.create_masked_stream(&stream, static_cast<std::uint32_t>(mask.size()), mask.data()),
                 "hipExtStreamCreateWithCUMask");
    } else {
      hip_.check(hip_.create_stream(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
    }
    return Stream{reinterpret_cast<std::uintptr_t>(stream)};
  }
  Event create_event() override {
    hipEvent_t event = nullptr;
    hip_.check(hip_.create_event(&event), "hipEventCreate");
    return Event{reinterpret_cast<std::uintptr_t>(event)};
  }
  void record(Event event, Stream stream) override {
    hip_.check(hip_.record_event(of(event), of(stream)), "hipEventRecord");
  }
  void wait(Stream stream, Event event) override {
    hip_.check(hip_.wait_event(of(stream), of(event), 0), "hipStreamWaitEvent");
  }
  bool done(Event event) override {
    const hipError_t result = hip_.query_event(of(event));
    if (result == hipErrorNotReady) return false;
    hip_.check(result, "hipEventQuery");
    return true;
  }
  double microseconds(Event from, Event to) override {
    float milliseconds = 0.0f;
    hip_.check(hip_.elapsed_time(&milliseconds, of(from), of(to)), "hipEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    hip_.check(hip_.copy(to, from, bytes, hipMemcpyDefault, of(stream)), "hipMemcpyAsync");
  }
  void fill(void* memory, unsigned char byte, std::size_t bytes, Stream stream) override {
    hip_.check(hip_.fill(memory, byte, bytes, of(stream)), "hipMemsetAsync");
  }
  Kernel kernel(const std::string& name) override {
    hipFunction_t function = nullptr;
    hip_.check(hip_.find_function(&function, module_, name.c_str()), "hipModuleGetFunction");
    return Kernel{reinterpret_cast<std::uintptr_t>(function)};
  }
  void launch(Kernel kernel, Grid grid, void** arguments, Stream stream) override {
    hip_.check(hip_.launch_kernel(reinterpret_cast<hipFunction_t>(kernel), static_cast<unsigned>(grid.workgroups), 1, 1,
                                  static_cast<unsigned>(grid.threads), 1, 1, static_cast<unsigned>(grid.local_memory),
                                  of(stream), arguments, nullptr),
               "hipModuleLaunchKernel");
  }
  Graph capture(Stream stream, const std::function<void()>& enqueue) override {
    hip_.check(hip_.begin_capture(of(stream), hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    hipGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      static_cast<void>(hip_.end_capture(of(stream), &graph));
      throw;
    }
    hip_.check(hip_.end_capture(of(stream), &graph), "hipStreamEndCapture");
    hipGraphExec_t instance = nullptr;
    const hipError_t result = hip_.instantiate(&instance, graph, nullptr, nullptr, 0);
    static_cast<void>(hip_.destroy_graph(graph));
    hip_.check(result, "hipGraphInstantiate");
    return Graph{reinterpret_cast<std::uintptr_t>(instance)};
  }
  void launch(Graph graph, Stream stream) override {
    hip_.check(hip_.launch_graph(reinterpret_cast<hipGraphExec_t>(graph), of(stream)), "hipGraphLaunch");
  }
  void release(Graph graph) noexcept override {
    static_cast<void>(hip_.destroy_instance(reinterpret_cast<hipGraphExec_t>(graph)));
  }

  // CUs are limited by the stream's mask.
  std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int>) override {
    if (workspace_ == nullptr) workspace_ = allocate(gemm_workspace);
    return prepare_hip_gemm(libraries_.gemms, shape, matrices, workspace_, gemm_workspace);
  }
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) override {
    return libraries_.collectives.join(group, rank, members, channels);
  }

  std::optional<BoardState> board() override { return board_.state(); }
  std::vector<int> copy_engines(Gpu& peer) override {
    return libraries_.engines.engines(agent_, dynamic_cast<HipGpu&>(peer).agent_);
  }
  EngineCopy copy_on_engine(int engine, Gpu& peer, void* to, const void* from, std::size_t bytes) override {
    return libraries_.engines.copy(engine, agent_, dynamic_cast<HipGpu&>(peer).agent_, to, from, bytes);
  }

 private:
  std::string bus_id() const {
    std::array<char, 32> text{};
    hip_.check(hip_.bus_id(text.data(), static_cast<int>(text.size()), number_), "hipDeviceGetPCIBusId");
    std::string lower = text.data();
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return lower;
  }

  void describe() {
    std::array<char, 128> name{};
    hip_.check(hip_.device_name(name.data(), static_cast<int>(name.size()), number_), "hipDeviceGetName");
    device_.name = name.data();
    device_.architecture = agent_.name;
    device_.cus = agent_.cus;
    device_.local_memory = local_memory_of_cu;
    hip_.check(hip_.device_memory(&device_.memory, number_), "hipDeviceTotalMem");
    device_.ticks_per_second = ticks_per_second;
    device_.power_cap = board_.power_cap();
  }

  const HipDriver& hip_;
  const HipLibraries& libraries_;
  int number_;
  HsaEngines::Agent agent_;
  AmdBoard board_;
  hipModule_t module_ = nullptr;
  void* workspace_ = nullptr;
  Device device_;
};

// One of these generations of a library, the newest first.
Library generations(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const char* generation : {".7", ".6", ".5", ".1", ".0", ""}) names.push_back(name + generation);
  return Library::find(names, folders);
}

class HipRuntime : public Runtime {
 public:
  explicit HipRuntime(const std::vector<std::string>& folders)
      : hip_(generations("libamdhip64.so", folders)),
        libraries_{.compiler = compiler(folders),
                   .gemms = {generations("libhipblaslt.so", folders),
                             Library::find({"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0",
                                            "librocblas.so"},
                                           folders)},
                   .collectives = CollectiveLibrary(generations("librccl.so", folders)),
                   .engines = HsaEngines(generations("libhsa-runtime64.so", folders))} {}

  std::string name() const override { return "HIP"; }
  int gpus() const override {
    int count = 0;
    const hipError_t result = hip_.device_count(&count);
    if (result == hipErrorNoDevice) return 0;
    hip_.check(result, "hipGetDeviceCount");
    return count;
  }
  std::unique_ptr<Gpu> open(int gpu) override { return std::make_unique<HipGpu>(hip_, libraries_, gpu); }

  std::vector<std::string> versions() const override {
    std::vector<std::string> all;
    std::ifstream driver("/sys/module/amdgpu/version");
    std::string version;
    if (driver >> version) all.push_back("amdgpu " + version);
    all.push_back("HIP " + hip_.version());
    if (!libraries_.gemms.name().empty()) all.push_back(libraries_.gemms.name());
    if (libraries_.collectives) all.push_back("RCCL " + libraries_.collectives.version());
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all;
    if (libraries_.gemms.name().empty()) all.emplace_back("neither libhipblaslt nor librocblas was found: no GEMMs");
    if (!libraries_.collectives) all.emplace_back("librccl was not found: no collectives by kernels");
    if (!libraries_.engines.can_choose()) {
      all.emplace_back("libhsa-runtime64 lets no program choose a copy engine: no engines one by one");
    }
    return all;
  }
  GroupName name_group() override { return libraries_.collectives.name_group(); }

 private:
  // hipRTC was a part of the runtime once.
  static Library compiler(const std::vector<std::string>& folders) {
    const Library own = generations("libhiprtc.so", folders);
    return own ? own : generations("libamdhip64.so", folders);
  }

  HipDriver hip_;
  HipLibraries libraries_;
};

}  // namespace

std::unique_ptr<Runtime> open_hip(const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  all.emplace_back("/opt/rocm/lib");
  return std::make_unique<HipRuntime>(all);
}

}  // namespace c3sim::measure
