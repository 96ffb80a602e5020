// Implements Runtime and Gpu: for NVIDIA by its driver, cuBLASLt, NCCL and NVML; for AMD by HIP, HSA, hipBLASLt, RCCL
// and the files of the amdgpu driver. What both do alike stands first.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "calibrate/measure/backends/boards.h"
#include "calibrate/measure/backends/gpu_calls.h"
#include "calibrate/measure/backends/libraries.h"

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
    return libraries_.prepare_gemm(shape, matrices, cus, workspace_);
  }
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) override {
    return libraries_.join(group, rank, members, channels);
  }

 protected:
  // Loads the kernels for device_.architecture, which has to be known.
  void load_kernels() {
    const std::vector<char> code = libraries_.compile_kernels(device_.architecture);
    calls_.load_module(&module_, code.data());
  }
  Stream create_plain_stream() {
    constexpr unsigned independent = 1;  // of the default stream
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

// NVIDIA's driver limits no stream to SMs, only GEMMs by their kernels, and lets no program choose a copy engine.
class NvidiaGpu : public VendorGpu {
 public:
  NvidiaGpu(const GpuCalls& calls, const Libraries& libraries, const Library& boards, int number)
      : VendorGpu(calls, libraries, number), board_(boards, bus_id()) {
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
  Agent agent_;
  AmdBoard board_;
};

class VendorRuntime : public Runtime {
 public:
  VendorRuntime(Vendor vendor, const std::vector<std::string>& folders)
      : calls_(vendor, vendor == Vendor::nvidia ? Library::find({"libcuda.so.1"}, folders, cuda_fault)
                                                : Library::find_newest("libamdhip64.so", folders, hip_fault)),
        libraries_(vendor, folders) {
    if (vendor == Vendor::amd) {
      engines_.emplace(folders);
      return;
    }
    boards_ = Library::find({"libnvidia-ml.so.1"}, folders);
    calls_.init(0);
  }
  int gpus() const override {
    int count = 0;
    return calls_.device_count.unless(GpuCalls::no_device, &count) ? count : 0;
  }
  GroupName name_group() override { return libraries_.name_group(); }
  std::unique_ptr<Gpu> open(int gpu) override {
    if (engines_) return std::make_unique<AmdGpu>(calls_, libraries_, *engines_, gpu);
    return std::make_unique<NvidiaGpu>(calls_, libraries_, boards_, gpu);
  }
  std::vector<std::string> versions() const override {
    std::vector<std::string> all;
    std::string driver;
    if (engines_) {
      std::ifstream("/sys/module/amdgpu/version") >> driver;
    } else {
      driver = NvidiaBoard::driver_version(boards_);
    }
    if (!driver.empty()) all.push_back((engines_ ? "amdgpu " : "driver ") + driver);
    int version = 0;
    calls_.version(&version);
    all.push_back(
        engines_ ? fmt::format("HIP {}.{}.{}", version / 10'000'000, version % 10'000'000 / 100'000, version % 100'000)
                 : fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
    std::ranges::copy(libraries_.versions(), std::back_inserter(all));
    return all;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> all = libraries_.missing();
    if (!engines_ && !boards_) all.emplace_back("libnvidia-ml was not found: no power and no clocks");
    if (engines_ && !engines_->can_choose()) {
      all.emplace_back("libhsa-runtime64 lets no program choose a copy engine: no engines one by one");
    }
    return all;
  }

 private:
  GpuCalls calls_;
  Libraries libraries_;
  Library boards_;                     // NVML; for NVIDIA alone
  std::optional<HsaEngines> engines_;  // for AMD alone
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
