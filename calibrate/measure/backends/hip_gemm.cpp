#include "calibrate/measure/backends/hip_gemm.h"

#include <fmt/format.h>

#include <cstdint>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

// Both libraries think in columns: a matrix of rows is to them its transpose, and C^T = B^T A^T.

// As hipblaslt.h of ROCm 6 and 7 has it; all types are pointers to what is not told.
namespace lt {

using Object = void*;
using Status = int;
constexpr Status success = 0, not_supported = 7;
constexpr int compute_fp32 = 2;     // HIPBLAS_COMPUTE_32F
constexpr int fp32 = 0, bf16 = 14;  // hipDataType
constexpr int most_workspace = 1;   // HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

struct Algorithm {
  std::uint8_t data[16];
  std::size_t most_workspace;
};
struct Choice {  // hipblasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  std::size_t workspace;
  Status status;
  float waves;
  int reserved[4];
};

class LtGemm : public Gemm {
 public:
  LtGemm(const Library& library, GemmShape shape, Matrices matrices, void* workspace, std::size_t workspace_bytes)
      : matrices_(matrices), workspace_(workspace), workspace_bytes_(workspace_bytes), library_(library) {
    call("hipblasLtCreate", library_.need<Status (*)(Object*)>("hipblasLtCreate")(&handle_));
    const auto describe = library_.need<Status (*)(Object*, int, int)>("hipblasLtMatmulDescCreate");
    call("hipblasLtMatmulDescCreate", describe(&operation_, compute_fp32, fp32));
    b_ = layout(shape.n, shape.k);
    a_ = layout(shape.k, shape.m);
    c_ = layout(shape.n, shape.m);
    choose();
  }
  ~LtGemm() override {
    for (const Object layout : {a_, b_, c_}) destroy("hipblasLtMatrixLayoutDestroy", layout);
    destroy("hipblasLtMatmulDescDestroy", operation_);
    destroy("hipblasLtDestroy", handle_);
  }
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  void launch(Stream stream) override {
    const float one = 1.0f, zero = 0.0f;
    call("hipblasLtMatmul",
         multiply_(handle_, operation_, &one, matrices_.b, b_, matrices_.a, a_, &zero, matrices_.c, c_, matrices_.c, c_,
                   &choice_.algorithm, workspace_, workspace_bytes_, reinterpret_cast<Object>(stream)));
  }

 private:
  using Multiply = Status (*)(Object, Object, const void*, const void*, Object, const void*, Object, const void*,
                              const void*, Object, void*, Object, const Algorithm*, void*, std::size_t, Object);

  static void call(const char* name, Status status) {
    if (status == success) return;
    throw GpuError(status == not_supported ? GpuError::Kind::unsupported : GpuError::Kind::failed,
                   fmt::format("{}: status {}", name, status));
  }
  Object layout(std::int64_t rows, std::int64_t columns) const {
    using Create = Status (*)(Object*, int, std::uint64_t, std::uint64_t, std::int64_t);
    Object made = nullptr;
    call("hipblasLtMatrixLayoutCreate",
         library_.need<Create>("hipblasLtMatrixLayoutCreate")(&made, bf16, static_cast<std::uint64_t>(rows),
                                                              static_cast<std::uint64_t>(columns), rows));
    return made;
  }
  void destroy(const char* name, Object object) const {
    const auto function = library_.look_up<Status (*)(Object)>(name);
    if (object != nullptr && function != nullptr) function(object);
  }
  // The kernel that the library itself thinks best.
  void choose() {
    using Set = Status (*)(Object, int, const void*, std::size_t);
    using Choose = Status (*)(Object, Object, Object, Object, Object, Object, Object, int, Choice*, int*);
    Object preference = nullptr;
    call("hipblasLtMatmulPreferenceCreate",
         library_.need<Status (*)(Object*)>("hipblasLtMatmulPreferenceCreate")(&preference));
    library_.need<Set>("hipblasLtMatmulPreferenceSetAttribute")(preference, most_workspace, &workspace_bytes_,
                                                                sizeof(workspace_bytes_));
    int found = 0;
    const Status status = library_.need<Choose>("hipblasLtMatmulAlgoGetHeuristic")(handle_, operation_, b_, a_, c_, c_,
                                                                                   preference, 1, &choice_, &found);
    destroy("hipblasLtMatmulPreferenceDestroy", preference);
    call("hipblasLtMatmulAlgoGetHeuristic", status == success && found == 0 ? not_supported : status);
  }

  Matrices matrices_;
  void* workspace_;
  std::size_t workspace_bytes_;
  Library library_;
  Multiply multiply_ = library_.need<Multiply>("hipblasLtMatmul");
  Object handle_ = nullptr, operation_ = nullptr, a_ = nullptr, b_ = nullptr, c_ = nullptr;
  Choice choice_{};
};

}  // namespace lt

// As rocblas.h has it since ROCm 3.
namespace roc {

using Object = void*;
using Status = int;
constexpr Status success = 0;
constexpr int no_transpose = 111;      // rocblas_operation_none
constexpr int bf16 = 168, fp32 = 151;  // rocblas_datatype
constexpr int standard_algorithm = 0;

class RocGemm : public Gemm {
 public:
  RocGemm(const Library& library, GemmShape shape, Matrices matrices)
      : shape_(shape), matrices_(matrices), library_(library) {
    call("rocblas_create_handle", library_.need<Status (*)(Object*)>("rocblas_create_handle")(&handle_));
  }
  ~RocGemm() override {
    const auto destroy = library_.look_up<Status (*)(Object)>("rocblas_destroy_handle");
    if (handle_ != nullptr && destroy != nullptr) destroy(handle_);
  }
  RocGemm(const RocGemm&) = delete;
  RocGemm& operator=(const RocGemm&) = delete;

  void launch(Stream stream) override {
    const float one = 1.0f, zero = 0.0f;
    const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n), k = static_cast<int>(shape_.k);
    call("rocblas_set_stream", set_stream_(handle_, reinterpret_cast<Object>(stream)));
    call("rocblas_gemm_ex",
         multiply_(handle_, no_transpose, no_transpose, n, m, k, &one, matrices_.b, bf16, n, matrices_.a, bf16, k,
                   &zero, matrices_.c, bf16, n, matrices_.c, bf16, n, fp32, standard_algorithm, 0, 0));
  }

 private:
  using Multiply = Status (*)(Object, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
                              int, const void*, const void*, int, int, void*, int, int, int, int, std::int32_t,
                              std::uint32_t);

  static void call(const char* name, Status status) {
    if (status != success) throw GpuError(GpuError::Kind::failed, fmt::format("{}: status {}", name, status));
  }

  GemmShape shape_;
  Matrices matrices_;
  Library library_;
  Multiply multiply_ = library_.need<Multiply>("rocblas_gemm_ex");
  Status (*set_stream_)(Object, Object) = library_.need<Status (*)(Object, Object)>("rocblas_set_stream");
  Object handle_ = nullptr;
};

}  // namespace roc

}  // namespace

std::string HipGemmLibraries::name() const {
  if (hipblaslt) return "hipBLASLt";
  return rocblas ? "rocBLAS" : "";
}

std::unique_ptr<Gemm> prepare_hip_gemm(const HipGemmLibraries& libraries, GemmShape shape, Matrices matrices,
                                       void* workspace, std::size_t workspace_bytes) {
  if (libraries.hipblaslt) {
    return std::make_unique<lt::LtGemm>(libraries.hipblaslt, shape, matrices, workspace, workspace_bytes);
  }
  return std::make_unique<roc::RocGemm>(libraries.rocblas, shape, matrices);
}

}  // namespace c3sim::measure
