// GPUs by the CUDA driver, cuBLASLt, NCCL and NVML.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "calibrate/measure/backends/backend.h"
#include "calibrate/measure/backends/collective_library.h"
#include "calibrate/measure/backends/cuda_compiler.h"
#include "calibrate/measure/backends/cuda_driver.h"
#include "calibrate/measure/backends/cuda_gemm.h"
#include "calibrate/measure/backends/nvidia_board.h"
#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

constexpr std::size_t gemm_workspace = std::size_t{64} << 20;

struct CudaLibraries {
  Library compiler, gemms, boards;
  CollectiveLibrary collectives;
};

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
CUstream of(Stream stream) { return reinterpret_cast<CUstream>(stream); }
CUevent of(Event event) { return reinterpret_cast<CUevent>(event); }

class CudaGpu : public Gpu {
 public:
  CudaGpu(const CudaDriver& cuda, const CudaLibraries& libraries, int number)
      : cuda_(cuda), libraries_(libraries), number_(number), board_(libraries.boards, bus_id()) {
    cuda_.check(cuda_.device(&handle_, number), "cuDeviceGet");
    cuda_.check(cuda_.retain_context(&context_, handle_), "cuDevicePrimaryCtxRetain");
    describe();
    make_current();
    const std::vector<char> code = compile_for_cuda(libraries_.compiler, kernel_source(), device_.architecture);
    cuda_.check(cuda_.load_module(&module_, code.data()), "cuModuleLoadData");
  }
  ~CudaGpu() override {
    if (workspace_ != nullptr) release(workspace_);
    cuda_.release_context(handle_);  // and all that was made in it
  }
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  const Device& device() const override { return device_; }
  void make_current() override { cuda_.check(cuda_.set_context(context_), "cuCtxSetCurrent"); }

  void* allocate(std::size_t bytes) override {
    CUdeviceptr memory = 0;
    cuda_.check(cuda_.allocate(&memory, bytes), "cuMemAlloc");
    return reinterpret_cast<void*>(memory);
  }
  void release(void* memory) noexcept override {
    cuda_.set_context(context_);  // whoever lets go may be another thread
    cuda_.release(address(memory));
  }
  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    cuda_.check(cuda_.allocate_host(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    return memory;
  }
  void release_host(void* memory) noexcept override {
    cuda_.set_context(context_);
    cuda_.release_host(memory);
  }
  void reach(Gpu& peer) override {
    const auto& other = dynamic_cast<CudaGpu&>(peer);
    int possible = 0;
    cuda_.check(cuda_.can_access_peer(&possible, handle_, other.handle_), "cuDeviceCanAccessPeer");
    if (possible == 0) {
      throw GpuError(GpuError::Kind::unsupported,
                     fmt::format("GPU {} cannot reach the memory of GPU {}", number_, other.number_));
    }
    const CUresult result = cuda_.enable_peer(other.context_, 0);
    if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) cuda_.check(result, "cuCtxEnablePeerAccess");
  }

  // CUDA limits no stream to SMs: GEMMs are, by their kernel.
  Stream create_stream(std::optional<int>, int) override {
    CUstream stream = nullptr;
    cuda_.check(cuda_.create_stream(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return Stream{reinterpret_cast<std::uintptr_t>(stream)};
  }
  Event create_event() override {
    CUevent event = nullptr;
    cuda_.check(cuda_.create_event(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    return Event{reinterpret_cast<std::uintptr_t>(event)};
  }
  void record(Event event, Stream stream) override {
    cuda_.check(cuda_.record_event(of(event), of(stream)), "cuEventRecord");
  }
  void wait(Stream stream, Event event) override {
    cuda_.check(cuda_.wait_event(of(stream), of(event), CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
  }
  bool done(Event event) override {
    const CUresult result = cuda_.query_event(of(event));
    if (result == CUDA_ERROR_NOT_READY) return false;
    cuda_.check(result, "cuEventQuery");
    return true;
  }
  double microseconds(Event from, Event to) override {
    float milliseconds = 0.0f;
    cuda_.check(cuda_.elapsed_time(&milliseconds, of(from), of(to)), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    cuda_.check(cuda_.copy(address(to), address(from), bytes, of(stream)), "cuMemcpyAsync");
  }
  void fill(void* memory, unsigned char byte, std::size_t bytes, Stream stream) override {
    cuda_.check(cuda_.fill(address(memory), byte, bytes, of(stream)), "cuMemsetD8Async");
  }
  Kernel kernel(const std::string& name) override {
    CUfunction function = nullptr;
    cuda_.check(cuda_.find_function(&function, module_, name.c_str()), "cuModuleGetFunction");
    cuda_.check(cuda_.set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most_local_memory_),
                "cuFuncSetAttribute");
    return Kernel{reinterpret_cast<std::uintptr_t>(function)};
  }
  void launch(Kernel kernel, Grid grid, void** arguments, Stream stream) override {
    cuda_.check(cuda_.launch_kernel(reinterpret_cast<CUfunction>(kernel), static_cast<unsigned>(grid.workgroups), 1, 1,
                                    static_cast<unsigned>(grid.threads), 1, 1, static_cast<unsigned>(grid.local_memory),
                                    of(stream), arguments, nullptr),
                "cuLaunchKernel");
  }
  Graph capture(Stream stream, const std::function<void()>& enqueue) override {
    cuda_.check(cuda_.begin_capture(of(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    CUgraph graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      cuda_.end_capture(of(stream), &graph);
      throw;
    }
    cuda_.check(cuda_.end_capture(of(stream), &graph), "cuStreamEndCapture");
    CUgraphExec instance = nullptr;
    const CUresult result = cuda_.instantiate(&instance, graph, 0);
    cuda_.destroy_graph(graph);
    cuda_.check(result, "cuGraphInstantiate");
    return Graph{reinterpret_cast<std::uintptr_t>(instance)};
  }
  void launch(Graph graph, Stream stream) override {
    cuda_.check(cuda_.launch_graph(reinterpret_cast<CUgraphExec>(graph), of(stream)), "cuGraphLaunch");
  }
  void release(Graph graph) noexcept override { cuda_.destroy_instance(reinterpret_cast<CUgraphExec>(graph)); }

  std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int> cus) override {
    if (workspace_ == nullptr) workspace_ = allocate(gemm_workspace);
    return prepare_cublas_gemm(libraries_.gemms, shape, matrices, cus, workspace_, gemm_workspace);
  }
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) override {
    return libraries_.collectives.join(group, rank, members, channels);
  }

  std::optional<BoardState> board() override { return board_.state(); }
  std::vector<int> copy_engines(Gpu&) override { return {}; }
  EngineCopy copy_on_engine(int, Gpu&, void*, const void*, std::size_t) override {
    throw GpuError(GpuError::Kind::unsupported, "CUDA lets no program choose a copy engine");
  }

 private:
  int attribute(CUdevice_attribute attribute) const {
    int value = 0;
    cuda_.check(cuda_.attribute(&value, attribute, handle_), "cuDeviceGetAttribute");
    return value;
  }

  std::string bus_id() const {
    CUdevice device = 0;
    std::array<char, 32> text{};
    cuda_.check(cuda_.device(&device, number_), "cuDeviceGet");
    cuda_.check(cuda_.bus_id(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetPCIBusId");
    return text.data();
  }

  void describe() {
    std::array<char, 128> name{};
    cuda_.check(cuda_.device_name(name.data(), static_cast<int>(name.size()), handle_), "cuDeviceGetName");
    device_.name = name.data();
    device_.architecture = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                       attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    device_.cus = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    most_local_memory_ = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    device_.local_memory = static_cast<std::size_t>(most_local_memory_);
    cuda_.check(cuda_.device_memory(&device_.memory, handle_), "cuDeviceTotalMem");
    device_.ticks_per_second = 1e9;  // of %globaltimer
    device_.power_cap = board_.power_cap();
    device_.top_clock = board_.top_clock();
  }

  const CudaDriver& cuda_;
  const CudaLibraries& libraries_;
  int number_;
  NvidiaBoard board_;
  CUdevice handle_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  int most_local_memory_ = 0;
  void* workspace_ = nullptr;
  Device device_;
};

class CudaRuntime : public Runtime {
 public:
  explicit CudaRuntime(const std::vector<std::string>& folders)
      : cuda_(Library::find({"libcuda.so.1"}, folders)),
        libraries_{.compiler = Library::find({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, folders),
                   .gemms = Library::find({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, folders),
                   .boards = Library::find({"libnvidia-ml.so.1"}, folders),
                   .collectives = CollectiveLibrary(Library::find({"libnccl.so.2", "libnccl.so"}, folders))} {}

  std::string name() const override { return "CUDA"; }
  int gpus() const override {
    int count = 0;
    cuda_.check(cuda_.device_count(&count), "cuDeviceGetCount");
    return count;
  }
  std::unique_ptr<Gpu> open(int gpu) override { return std::make_unique<CudaGpu>(cuda_, libraries_, gpu); }

  std::vector<std::string> versions() const override {
    std::vector<std::string> all;
    const std::string driver = NvidiaBoard::driver_version(libraries_.boards);
    if (!driver.empty()) all.push_back("driver " + driver);
    all.push_back("CUDA " + cuda_.version());
    if (libraries_.gemms) all.push_back("cuBLASLt " + cublas_version(libraries_.gemms));
    if (libraries_.collectives) {
      const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
      all.push_back(fmt::format("NCCL {} with NCCL_NVLS_ENABLE={}", libraries_.collectives.version(),
                                multicast == nullptr ? "" : multicast));
    }
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all;
    if (!libraries_.gemms) all.emplace_back("libcublasLt was not found: no GEMMs");
    if (!libraries_.collectives) all.emplace_back("libnccl was not found: no collectives by kernels");
    if (!libraries_.boards) all.emplace_back("libnvidia-ml was not found: no power and no clocks");
    return all;
  }
  GroupName name_group() override { return libraries_.collectives.name_group(); }

 private:
  CudaDriver cuda_;
  CudaLibraries libraries_;
};

}  // namespace

std::unique_ptr<Runtime> open_cuda(const std::vector<std::string>& folders) {
  // Multicast through the switch would reduce in the network, which no platform models; and not every host allows it.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  std::vector<std::string> all = folders;
  all.insert(all.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"});
  return std::make_unique<CudaRuntime>(all);
}

}  // namespace c3sim::measure
