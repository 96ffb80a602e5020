#include "calibrate/measure/backends/libraries.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <utility>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

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

Library find_collectives(Vendor vendor, const std::vector<std::string>& folders) {
  if (vendor == Vendor::amd) return Library::find_newest("librccl.so", folders, collective_fault);
  return Library::find({"libnccl.so.2", "libnccl.so"}, folders, collective_fault);
}

Library find_gemms(Vendor vendor, const std::vector<std::string>& folders) {
  if (vendor == Vendor::amd) return Library::find_newest("libhipblaslt.so", folders, lt_fault<hipblas.not_supported>);
  return Library::find({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, folders,
                       lt_fault<cublas.not_supported>);
}

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

}  // namespace

Libraries::Libraries(Vendor vendor, std::vector<std::string> folders)
    : vendor_(vendor),
      folders_(std::move(folders)),
      collectives_(find_collectives(vendor, folders_)),
      gemms_(find_gemms(vendor, folders_)) {}

std::vector<std::string> Libraries::versions() const {
  const bool amd = vendor_ == Vendor::amd;
  std::vector<std::string> all;
  if (gemms_) all.push_back(amd ? "hipBLASLt" : "cuBLASLt " + version_of_cublas(gemms_));
  if (collectives_) {
    const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
    const std::string version = version_of_collectives(collectives_);
    all.push_back(
        amd ? "RCCL " + version
            : fmt::format("NCCL {} with NCCL_NVLS_ENABLE={}", version, multicast == nullptr ? "" : multicast));
  }
  return all;
}

std::vector<std::string> Libraries::missing() const {
  const bool amd = vendor_ == Vendor::amd;
  std::vector<std::string> all;
  if (!gemms_) all.push_back(fmt::format("{} was not found: no GEMMs", amd ? "libhipblaslt" : "libcublasLt"));
  if (!collectives_) {
    all.push_back(fmt::format("{} was not found: no collectives by kernels", amd ? "librccl" : "libnccl"));
  }
  return all;
}

GroupName Libraries::name_group() const {
  GroupName name;  // laid out and passed as ncclUniqueId is, a struct of 128 characters
  collectives_.call("ncclGetUniqueId", &name);
  return name;
}

std::unique_ptr<Communicator> Libraries::join(const GroupName& group, int rank, int members, int channels) const {
  return std::make_unique<Member>(collectives_, group, rank, members, channels);
}

std::unique_ptr<Gemm> Libraries::prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int> cus,
                                              Workspace workspace) const {
  if (vendor_ == Vendor::nvidia) return std::make_unique<LtGemm>(gemms_, cublas, shape, matrices, cus, workspace);
  // On AMD GPUs the stream's mask limits CUs.
  return std::make_unique<LtGemm>(gemms_, hipblas, shape, matrices, std::nullopt, workspace);
}

std::vector<char> Libraries::compile_kernels(const std::string& architecture) const {
  const bool nvidia = vendor_ == Vendor::nvidia;
  Library compiler = nvidia ? Library::find({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, folders_)
                            : Library::find_newest("libhiprtc.so", folders_);
  // In older versions hipRTC is a part of the runtime.
  if (!nvidia && !compiler) compiler = Library::find_newest("libamdhip64.so", folders_);
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

}  // namespace c3sim::measure
