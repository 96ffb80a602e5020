// Implements Runtime and Gpu: for NVIDIA by its driver, cuBLASLt, NCCL, NVRTC and NVML; for AMD by HIP, HSA, hipBLASLt,
// RCCL, hipRTC and the files of the amdgpu driver. What is used of these libraries is declared here, since machines
// have the libraries more often than their headers. A call for a GPU is for the one that is current on the thread.
#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "calibrate/measure/backends/boards.h"
#include "calibrate/measure/backends/gpu_calls.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

// These are the numbers of cuda.h (CUresult); those that hip_runtime_api.h (hipError_t) has, too, are the same there.
GpuError::Kind severity_of(int result) {
  switch (result) {
    case 2:    // out of memory
    case 100:  // no device
    case 801:  // not supported
      return GpuError::Kind::unsupported;
    case 46:                        // device unavailable
    case 214:                       // ECC uncorrectable
    case 700:                       // illegal address
    case 702:                       // launch timeout
    case 714:                       // hardware stack error
    case 715:                       // illegal instruction
    case 716:                       // misaligned address
    case 719:                       // launch failed
    case 802:                       // system not ready
    case 999:                       // unknown
      return GpuError::Kind::lost;  // the GPU answers nothing else from now on
    default:
      return GpuError::Kind::failed;
  }
}

GpuError cuda_fault(const Library& driver, const std::string& call, int result) {
  const char* name = "an unknown error";
  const char* text = "";
  driver.result("cuGetErrorName", result, &name);
  driver.result("cuGetErrorString", result, &text);
  return {severity_of(result), "{}: {}, {}", call, name, text};
}

GpuError hip_fault(const Library& driver, const std::string& call, int result) {
  return {severity_of(result), "{}: {}", call, driver.need<const char*(int)>("hipGetErrorName")(result)};
}

// These are values of ncclDataType_t and ncclRedOp_t, which are enumerations in nccl.h and rccl.h.
constexpr int int8 = 0;
constexpr int bfloat16 = 9;
constexpr int sum = 0;

// Config is ncclConfig_t of version 2.17, the first with a number of workgroups; later versions read it, too.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21700;
  int blocking = 1;
  int cluster_size = INT_MIN;  // INT_MIN and null leave the choice to the library
  int min_workgroups = INT_MIN;
  int max_workgroups = INT_MIN;
  const char* net_name = nullptr;
};

using Comm = void*;

class Member : public Communicator {
 public:
  Member(const Library& library, const GroupName& group, int rank, int members, int channels)
      : library_(library), members_(members) {
    if (channels == 0) {
      library_.call("ncclCommInitRank", &comm_, members, group, rank);
    } else {
      Config config;
      config.min_workgroups = config.max_workgroups = channels;
      library_.call("ncclCommInitRankConfig", &comm_, members, group, rank, &config);
    }
  }
  ~Member() override { abort_.result(comm_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void launch(Collective collective, const void* source, void* destination, std::size_t bytes, Stream on) override {
    const std::size_t shard = bytes / static_cast<std::size_t>(members_);
    const std::size_t numbers = bytes / bytes_of_bfloat16, shard_numbers = shard / bytes_of_bfloat16;
    switch (collective) {
      case Collective::all_gather:
        return all_gather_(source, destination, shard, int8, comm_, on);
      case Collective::all_to_all:
        return all_to_all(static_cast<const char*>(source), static_cast<char*>(destination), shard, on);
      case Collective::all_reduce:
        return all_reduce_(source, destination, numbers, bfloat16, sum, comm_, on);
      case Collective::reduce_scatter:
        return reduce_scatter_(source, destination, shard_numbers, bfloat16, sum, comm_, on);
      case Collective::broadcast:
        return broadcast_(source, destination, bytes, int8, 0, comm_, on);
    }
  }

 private:
  void all_to_all(const char* source, char* destination, std::size_t shard, Stream on) const {
    begin_group_();
    for (int peer = 0; peer < members_; ++peer) {
      const std::size_t at = shard * static_cast<std::size_t>(peer);
      send_(source + at, shard, int8, peer, comm_, on);
      receive_(destination + at, shard, int8, peer, comm_, on);
    }
    end_group_();
  }

  template <class... Parameters>
  using Call = Library::Call<Parameters...>;

  Library library_;
  int members_;
  Comm comm_ = nullptr;
  Call<const void*, void*, std::size_t, int, Comm, Stream> all_gather_{library_, "ncclAllGather"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> all_reduce_{library_, "ncclAllReduce"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> reduce_scatter_{library_, "ncclReduceScatter"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> broadcast_{library_, "ncclBroadcast"};
  Call<const void*, std::size_t, int, int, Comm, Stream> send_{library_, "ncclSend"};
  Call<void*, std::size_t, int, int, Comm, Stream> receive_{library_, "ncclRecv"};
  Call<> begin_group_{library_, "ncclGroupStart"}, end_group_{library_, "ncclGroupEnd"};
  Call<Comm> abort_{library_, "ncclCommAbort"};
};

GpuError collective_fault(const Library& library, const std::string& call, int result) {
  const auto describe = library.need<const char*(int)>("ncclGetErrorString");
  return {GpuError::Kind::failed, "{}: {}", call, describe(result)};
}

// The libraries of GEMMs expect matrices by columns: one by rows is its transpose to them, and C^T = B^T A^T.

// A Dialect has the names and numbers by which the calls of cuBLASLt and hipBLASLt (of ROCm 6 and 7) differ.
struct Dialect {
  const char* prefix;
  const char* multiply;
  int compute_fp32;
  int not_supported;
};
constexpr Dialect cublas{"cublasLt", "cublasLtMatmul", 68, 15}, hipblas{"hipblasLt", "hipblasLtMatmul", 2, 7};
constexpr int fp32 = 0, bf16 = 14;  // cudaDataType, hipDataType
constexpr int most_workspace = 1;   // ..._MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int most_sms = 15;        // CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET

template <int not_supported>
GpuError lt_fault(const Library&, const std::string& call, int status) {
  const bool missing = status == not_supported;
  return {missing ? GpuError::Kind::unsupported : GpuError::Kind::failed, "{}: status {}", call, status};
}

struct Workspace {  // on the device
  void* memory = nullptr;
  std::size_t bytes = 0;
};

class LtGemm : public Gemm {
 public:
  LtGemm(const Library& library, const Dialect& dialect, GemmShape shape, Matrices matrices, std::optional<int> sms,
         Workspace workspace)
      : library_(library), dialect_(dialect), matrices_(matrices), workspace_(workspace) {
    call("Create", &handle_);
    call("MatmulDescCreate", &operation_, dialect_.compute_fp32, fp32);
    if (sms) call("MatmulDescSetAttribute", operation_, most_sms, static_cast<const void*>(&*sms), sizeof(*sms));
    b_ = layout(shape.n, shape.k);
    a_ = layout(shape.k, shape.m);
    c_ = layout(shape.n, shape.m);
    choose();
  }
  ~LtGemm() override {
    for (const Object layout : {a_, b_, c_}) destroy("MatrixLayoutDestroy", layout);
    destroy("MatmulDescDestroy", operation_);
    destroy("Destroy", handle_);
  }
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  void launch(Stream stream) override {
    const float one = 1.0f, zero = 0.0f;
    multiply_(handle_, operation_, &one, matrices_.b, b_, matrices_.a, a_, &zero, matrices_.c, c_, matrices_.c, c_,
              &choice_, workspace_.memory, workspace_.bytes, stream);
  }

 private:
  std::string full(const char* name) const { return std::string(dialect_.prefix) + name; }
  template <class... Parameters>
  void call(const char* name, Parameters... parameters) const {
    library_.call(full(name), parameters...);
  }
  void destroy(const char* name, Object object) const {
    if (object != nullptr) library_.succeeds(full(name), object);
  }
  Object layout(std::int64_t rows, std::int64_t columns) const {
    Object made = nullptr;
    call("MatrixLayoutCreate", &made, bf16, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
         rows);
    return made;
  }
  // Chooses the kernel that the library itself thinks best.
  void choose() {
    Object preference = nullptr;
    call("MatmulPreferenceCreate", &preference);
    const void* const most_bytes = &workspace_.bytes;
    library_.result(full("MatmulPreferenceSetAttribute"), preference, most_workspace, most_bytes, sizeof(std::size_t));
    int found = 0;
    const int status = library_.result(full("MatmulAlgoGetHeuristic"), handle_, operation_, b_, a_, c_, c_, preference,
                                       1, static_cast<void*>(&choice_), &found);
    destroy("MatmulPreferenceDestroy", preference);
    library_.check(status == success && found == 0 ? dialect_.not_supported : status, full("MatmulAlgoGetHeuristic"));
  }

  Library library_;
  const Dialect& dialect_;
  Matrices matrices_;
  Workspace workspace_;
  Library::Call<Object, Object, const void*, const void*, Object, const void*, Object, const void*, const void*, Object,
                void*, Object, const void*, void*, std::size_t, Stream>
      multiply_{library_, dialect_.multiply};
  Object handle_ = nullptr, operation_ = nullptr, a_ = nullptr, b_ = nullptr, c_ = nullptr;
  // This is ...MatmulHeuristicResult_t: the algorithm, which stands first, and less than as much again about it.
  std::array<std::uint64_t, 32> choice_{};
};

// These declarations are those of hsa.h and hsa_ext_amd.h of ROCm 6.4.
enum class Handle : std::uint64_t {};  // of an agent (hsa_agent_t) or a signal (hsa_signal_t)
using EngineMask = std::uint32_t;      // a bit for each engine
constexpr int system_timestamp = 2, system_timestamp_frequency = 3;                      // hsa_system_info_t
constexpr int agent_name = 0, agent_device = 17;                                         // hsa_agent_info_t
constexpr int agent_cus = 0xA002, agent_bus_and_device = 0xA006, agent_domain = 0xA00F;  // hsa_amd_agent_info_t
constexpr int device_gpu = 1;                                                            // hsa_device_type_t
constexpr int below = 2, actively = 1;  // hsa_signal_condition_t, hsa_wait_state_t

struct CopyTime {  // hsa_amd_profiling_async_copy_time_t
  std::uint64_t start, end;
};
constexpr const char* copy_on_engine = "hsa_amd_memory_async_copy_on_engine";
constexpr const char* engine_status = "hsa_amd_memory_copy_engine_status";

constexpr int most_engines = 32;

struct Agent {
  Handle handle{};
  std::string name;    // "gfx942"
  std::string bus_id;  // "0000:05:00.0"
  int cus = 0;
};

struct Search {
  int (*ask)(Handle, int, void*);
  std::vector<Agent>& found;
};

int visit(Handle handle, void* data) {
  const auto& [ask, found] = *static_cast<Search*>(data);
  int type = 0;
  std::array<char, 64> name{};
  std::uint32_t cus = 0, bus = 0, domain = 0;
  ask(handle, agent_device, &type);
  if (type != device_gpu) return success;
  ask(handle, agent_name, name.data());
  ask(handle, agent_cus, &cus);
  ask(handle, agent_bus_and_device, &bus);
  ask(handle, agent_domain, &domain);
  found.push_back({handle, name.data(),
                   fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus >> 8 & 0xff, bus >> 3 & 0x1f, bus & 0x7),
                   static_cast<int>(cus)});
  return success;
}

GpuError hsa_fault(const Library& library, const std::string& call, int status) {
  const char* text = "an unknown error";
  library.succeeds("hsa_status_string", status, &text);
  return {GpuError::Kind::failed, "{}: {}", call, text};
}

// HsaEngines reaches the copy engines of AMD GPUs, one by one, by HSA; what is used of HSA is declared here.
class HsaEngines {
 public:
  // HSA's library is looked for in `folders` first. Without it there are neither agents nor engines.
  explicit HsaEngines(const std::vector<std::string>& folders)
      : library_(Library::find_newest("libhsa-runtime64.so", folders, hsa_fault)) {
    if (!library_) return;
    if (library_.result("hsa_init") != success) {  // as on a machine without a GPU
      library_ = {};
      return;
    }
    std::uint64_t frequency = 0;
    library_.call("hsa_system_get_info", system_timestamp_frequency, static_cast<void*>(&frequency));
    ticks_per_microsecond_ = static_cast<double>(frequency) * 1e-6;
    Search search{library_.need<int(Handle, int, void*)>("hsa_agent_get_info"), agents_};
    library_.call("hsa_iterate_agents", &visit, static_cast<void*>(&search));
  }

  // Throws GpuError where HSA does not know that GPU.
  const Agent& agent(const std::string& bus_id) const {
    const auto found = std::ranges::find(agents_, bus_id, &Agent::bus_id);
    if (found != agents_.end()) return *found;
    throw GpuError(GpuError::Kind::unsupported, "HSA knows no GPU at {}", bus_id);
  }

  // Returns whether a program can choose an engine.
  bool can_choose() const {
    return library_.look_up<void()>(engine_status) != nullptr && library_.look_up<void()>(copy_on_engine) != nullptr;
  }

  // Returns the engines that copy from one agent to the other, preferred ones first.
  std::vector<int> engines(const Agent& from, const Agent& to) const {
    if (!can_choose()) return {};
    EngineMask there = 0, preferred = 0;
    library_.succeeds(engine_status, to.handle, from.handle, &there);
    library_.succeeds("hsa_amd_memory_get_preferred_copy_engine", to.handle, from.handle, &preferred);
    std::vector<int> all;
    for (const bool first : {true, false}) {
      for (int engine = 0; engine < most_engines; ++engine) {
        const EngineMask bit = EngineMask{1} << engine;
        if ((there & bit) != 0 && ((preferred & bit) != 0) == first) all.push_back(engine);
      }
    }
    return all;
  }

  EngineCopy copy(int engine, const Agent& from, const Agent& to, void* destination, const void* source,
                  std::size_t bytes) const {
    constexpr double patience = 20e6;  // us
    constexpr bool by_this_engine_in_any_case = true;
    const Library::Call<bool> profile(library_, "hsa_amd_profiling_async_copy_enable");
    const Library::Call<Handle, CopyTime*> time(library_, "hsa_amd_profiling_get_async_copy_time");
    const Library::Call<void*, Handle, const void*, Handle, std::size_t, std::uint32_t, const Handle*, Handle,
                        EngineMask, bool>
        start_copy(library_, copy_on_engine);
    const auto wait =
        library_.need<std::int64_t(Handle, int, std::int64_t, std::uint64_t, int)>("hsa_signal_wait_scacquire");

    profile(true);
    Handle signal{};
    library_.call("hsa_signal_create", std::int64_t{1}, std::uint32_t{0}, static_cast<const Handle*>(nullptr), &signal);
    const double begin = now();
    const int started = start_copy.result(destination, to.handle, source, from.handle, bytes, 0, nullptr, signal,
                                          EngineMask{1} << engine, by_this_engine_in_any_case);
    std::int64_t left = 1;
    if (started == success) {
      left = wait(signal, below, 1, static_cast<std::uint64_t>(patience * ticks_per_microsecond_), actively);
    }
    const double seen = now();
    CopyTime stamps{};
    const int told = time.result(signal, &stamps);
    profile.result(false);
    if (started == success && left >= 1) {
      throw GpuError(GpuError::Kind::hang, "copy engine {} does not end its work", engine);
    }
    library_.call("hsa_signal_destroy", signal);
    start_copy.check(started);
    time.check(told);
    const double start = static_cast<double>(stamps.start) / ticks_per_microsecond_;
    const double end = static_cast<double>(stamps.end) / ticks_per_microsecond_;
    return {start - begin, end - start, seen - end};
  }

 private:
  // Returns the time by HSA's clock, in us.
  double now() const {
    std::uint64_t ticks = 0;
    library_.call("hsa_system_get_info", system_timestamp, static_cast<void*>(&ticks));
    return static_cast<double>(ticks) / ticks_per_microsecond_;
  }

  Library library_;
  std::vector<Agent> agents_;
  double ticks_per_microsecond_ = 1.0;
};

// Libraries are those of one vendor, as far as they are found: without one its calls throw GpuError.
struct Libraries {
  Libraries(Vendor of, std::vector<std::string> look_in)
      : vendor(of),
        folders(std::move(look_in)),
        calls(of, of == Vendor::nvidia ? Library::find({"libcuda.so.1"}, folders, cuda_fault)
                                       : Library::find_newest("libamdhip64.so", folders, hip_fault)) {
    if (of == Vendor::nvidia) {
      collectives = Library::find({"libnccl.so.2", "libnccl.so"}, folders, collective_fault);
      gemms = Library::find({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, folders,
                            lt_fault<cublas.not_supported>);
      boards = Library::find({"libnvidia-ml.so.1"}, folders);
      calls.init(0);
    } else {
      collectives = Library::find_newest("librccl.so", folders, collective_fault);
      gemms = Library::find_newest("libhipblaslt.so", folders, lt_fault<hipblas.not_supported>);
      engines.emplace(folders);
    }
  }

  // Compiles device/kernels.cu by NVRTC or hipRTC and returns the module for an architecture ("sm_90", "gfx942").
  // Throws GpuError with the compiler's log.
  std::vector<char> compile_kernels(const std::string& architecture) const {
    const bool nvidia = vendor == Vendor::nvidia;
    Library compiler = nvidia ? Library::find({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, folders)
                              : Library::find_newest("libhiprtc.so", folders);
    // In older versions hipRTC is a part of the runtime.
    if (!nvidia && !compiler) compiler = Library::find_newest("libamdhip64.so", folders);
    const auto call = [&](const char* name, auto... parameters) {
      return compiler.result((nvidia ? "nvrtc" : "hiprtc") + std::string(name), parameters...);
    };
    Object program = nullptr;
    const char* const* const no_headers = nullptr;
    if (call("CreateProgram", &program, kernel_source(), "kernels.cu", 0, no_headers, no_headers) != success) {
      throw GpuError(GpuError::Kind::failed, "{}CreateProgram failed", nvidia ? "nvrtc" : "hiprtc");
    }
    const std::string target = (nvidia ? "--gpu-architecture=" : "--offload-arch=") + architecture;
    const std::array words{target.c_str(), nvidia ? "--std=c++17" : "-O3"};
    std::size_t size = 0;
    std::vector<char> code;
    if (call("CompileProgram", program, static_cast<int>(words.size()), words.data()) == success) {
      call(nvidia ? "GetCUBINSize" : "GetCodeSize", program, &size);
      code.resize(size);
      call(nvidia ? "GetCUBIN" : "GetCode", program, code.data());
    }
    call("GetProgramLogSize", program, &size);
    std::string log(size, '\0');
    if (size > 0) call("GetProgramLog", program, log.data());
    call("DestroyProgram", &program);
    if (!code.empty()) return code;
    throw GpuError(GpuError::Kind::failed, "{} cannot compile the kernels for {}: {}", nvidia ? "NVRTC" : "hipRTC",
                   architecture, log);
  }

  Vendor vendor;
  std::vector<std::string> folders;
  GpuCalls calls;
  Library collectives, gemms;         // NCCL or RCCL, which have one interface; cuBLASLt or hipBLASLt
  Library boards;                     // NVML; for NVIDIA alone
  std::optional<HsaEngines> engines;  // for AMD alone
};

class VendorGpu : public Gpu {
 public:
  VendorGpu(const Libraries& libraries, int number) : libraries_(libraries), calls_(libraries.calls), number_(number) {
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
    calls_.set_current.result(place_);  // another thread may release it
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

  Stream create_stream(std::optional<int> /*cus*/, int /*first*/) override {
    constexpr unsigned independent = 1;  // of the default stream
    Stream stream{};
    calls_.create_stream(&stream, independent);
    return stream;
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
    const bool nvidia = libraries_.vendor == Vendor::nvidia;
    return std::make_unique<LtGemm>(libraries_.gemms, nvidia ? cublas : hipblas, shape, matrices,
                                    nvidia ? cus : std::nullopt,  // on AMD GPUs the stream's mask limits CUs
                                    workspace_);
  }
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) override {
    return std::make_unique<Member>(libraries_.collectives, group, rank, members, channels);
  }

 protected:
  // Loads the kernels for device_.architecture, which has to be known.
  void load_kernels() {
    const std::vector<char> code = libraries_.compile_kernels(device_.architecture);
    calls_.load_module(&module_, code.data());
  }
  std::string bus_id() const {
    std::array<char, 32> text{};
    calls_.bus_id(text.data(), static_cast<int>(text.size()), handle_);
    return text.data();
  }

  const Libraries& libraries_;
  const GpuCalls& calls_;
  int handle_ = 0;
  Place place_{};
  Device device_;
  Workspace workspace_{nullptr, std::size_t{64} << 20};

 private:
  int number_;
  Object module_ = nullptr;
};

// NVIDIA's driver limits no stream to SMs, only GEMMs by their kernels, and lets no program choose a copy engine.
class NvidiaGpu : public VendorGpu {
 public:
  NvidiaGpu(const Libraries& libraries, int number) : VendorGpu(libraries, number), board_(libraries.boards, bus_id()) {
    calls_.retain_context(&place_, handle_);
    VendorGpu::make_current();
    device_.architecture = fmt::format("sm_{}{}", attribute(75), attribute(76));  // compute capability
    device_.cus = attribute(16);                                                  // multiprocessors
    most_local_memory_ = attribute(97);                                           // shared memory on request
    device_.local_memory = static_cast<std::size_t>(most_local_memory_);
    device_.ticks_per_second = 1e9;  // of %globaltimer
    device_.power_cap = board_.power_cap();
    device_.top_clock = board_.top_clock();
    load_kernels();
  }
  ~NvidiaGpu() override { calls_.release_context.result(handle_); }  // releases all that was made in it, too

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
  AmdGpu(const Libraries& libraries, int number)
      : VendorGpu(libraries, number),
        agent_(libraries.engines->agent(lower(bus_id()))),
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
    if (!cus) return VendorGpu::create_stream(cus, first);
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
    return libraries_.engines->engines(agent_, dynamic_cast<AmdGpu&>(peer).agent_);
  }
  EngineCopy copy_on_engine(int engine, Gpu& peer, void* to, const void* from, std::size_t bytes) override {
    return libraries_.engines->copy(engine, agent_, dynamic_cast<AmdGpu&>(peer).agent_, to, from, bytes);
  }

 private:
  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
  }

  Agent agent_;
  AmdBoard board_;
};

std::string version_of_collectives(const Library& library) {
  int code = 0;
  if (!library.succeeds("ncclGetVersion", &code)) return "of unknown version";
  // From 2.9 on each part of a version has two digits.
  if (code >= 10000) return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

std::string version_of_cublas(const Library& library) {
  const auto ask = library.look_up<std::size_t()>("cublasLtGetVersion");
  if (ask == nullptr) return "of unknown version";
  const std::size_t version = ask();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

class VendorRuntime : public Runtime {
 public:
  VendorRuntime(Vendor vendor, std::vector<std::string> folders) : libraries_(vendor, std::move(folders)) {}

  int gpus() const override {
    int count = 0;
    return libraries_.calls.device_count.unless(GpuCalls::no_device, &count) ? count : 0;
  }
  GroupName name_group() override {
    GroupName name;  // laid out and passed as ncclUniqueId is, a struct of 128 characters
    libraries_.collectives.call("ncclGetUniqueId", &name);
    return name;
  }
  std::unique_ptr<Gpu> open(int gpu) override {
    if (is_amd()) return std::make_unique<AmdGpu>(libraries_, gpu);
    return std::make_unique<NvidiaGpu>(libraries_, gpu);
  }
  std::vector<std::string> versions() const override {
    std::vector<std::string> all;
    std::string driver;
    if (is_amd()) {
      std::ifstream("/sys/module/amdgpu/version") >> driver;
    } else {
      driver = NvidiaBoard::driver_version(libraries_.boards);
    }
    if (!driver.empty()) all.push_back((is_amd() ? "amdgpu " : "driver ") + driver);
    int version = 0;
    libraries_.calls.version(&version);
    all.push_back(
        is_amd() ? fmt::format("HIP {}.{}.{}", version / 10'000'000, version % 10'000'000 / 100'000, version % 100'000)
                 : fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
    if (libraries_.gemms) all.push_back(is_amd() ? "hipBLASLt" : "cuBLASLt " + version_of_cublas(libraries_.gemms));
    if (libraries_.collectives) {
      const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
      const std::string of = version_of_collectives(libraries_.collectives);
      all.push_back(is_amd()
                        ? "RCCL " + of
                        : fmt::format("NCCL {} with NCCL_NVLS_ENABLE={}", of, multicast == nullptr ? "" : multicast));
    }
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all;
    const auto lacks = [&all](const char* library, const char* what) {
      all.push_back(fmt::format("{} was not found: no {}", library, what));
    };
    if (!libraries_.gemms) lacks(is_amd() ? "libhipblaslt" : "libcublasLt", "GEMMs");
    if (!libraries_.collectives) lacks(is_amd() ? "librccl" : "libnccl", "collectives by kernels");
    if (!is_amd() && !libraries_.boards) lacks("libnvidia-ml", "power and no clocks");
    if (is_amd() && !libraries_.engines->can_choose()) {
      all.emplace_back("libhsa-runtime64 lets no program choose a copy engine: no engines one by one");
    }
    return all;
  }

 private:
  bool is_amd() const { return libraries_.vendor == Vendor::amd; }

  Libraries libraries_;
};

}  // namespace

std::unique_ptr<Runtime> open_cuda(const std::vector<std::string>& folders) {
  // With multicast the switch would reduce in the network, which not every host allows: it stays off unless asked for.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  std::vector<std::string> all = folders;
  all.insert(all.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"});
  return std::make_unique<VendorRuntime>(Vendor::nvidia, all);
}

std::unique_ptr<Runtime> open_hip(const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  all.emplace_back("/opt/rocm/lib");
  return std::make_unique<VendorRuntime>(Vendor::amd, all);
}

}  // namespace c3sim::measure
