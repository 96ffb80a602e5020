#include "calibrate/measure/backends/gemm_library.h"

#include <fmt/format.h>

#include <array>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

// All of them think in columns: a matrix of rows is to them its transpose, and C^T = B^T A^T.

// cuBLASLt, and hipBLASLt as ROCm 6 and 7 have it: the same calls with other names and numbers.
struct Dialect {
  const char* prefix;
  int compute_fp32;
  int not_supported;
};
constexpr Dialect cublas{"cublasLt", 68, 15}, hipblas{"hipblasLt", 2, 7};
constexpr int fp32 = 0, bf16 = 14;  // cudaDataType, hipDataType
constexpr int most_workspace = 1;   // ..._MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int most_sms = 15;        // CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET

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
    check("Matmul", multiply_(handle_, operation_, &one, matrices_.b, b_, matrices_.a, a_, &zero, matrices_.c, c_,
                              matrices_.c, c_, &choice_, workspace_.memory, workspace_.bytes, stream));
  }

 private:
  using Multiply = int (*)(Object, Object, const void*, const void*, Object, const void*, Object, const void*,
                           const void*, Object, void*, Object, const void*, void*, std::size_t, Stream);

  std::string full(const char* name) const { return std::string(dialect_.prefix) + name; }
  void check(const char* name, int status) const {
    if (status == success) return;
    throw GpuError(status == dialect_.not_supported ? GpuError::Kind::unsupported : GpuError::Kind::failed,
                   fmt::format("{}: status {}", full(name), status));
  }
  template <class... Parameters>
  void call(const char* name, Parameters... parameters) const {
    int (*const function)(Parameters...) = library_.need(full(name));
    check(name, function(parameters...));
  }
  void destroy(const char* name, Object object) const {
    int (*const function)(Object) = library_.look_up(full(name));
    if (object != nullptr && function != nullptr) function(object);
  }
  Object layout(std::int64_t rows, std::int64_t columns) const {
    Object made = nullptr;
    call("MatrixLayoutCreate", &made, bf16, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
         rows);
    return made;
  }
  // The kernel that the library itself thinks best.
  void choose() {
    Object preference = nullptr;
    call("MatmulPreferenceCreate", &preference);
    int (*const set)(Object, int, const void*, std::size_t) = library_.need(full("MatmulPreferenceSetAttribute"));
    set(preference, most_workspace, &workspace_.bytes, sizeof(workspace_.bytes));
    int (*const ask)(Object, Object, Object, Object, Object, Object, Object, int, void*, int*) =
        library_.need(full("MatmulAlgoGetHeuristic"));
    int found = 0;
    const int status = ask(handle_, operation_, b_, a_, c_, c_, preference, 1, &choice_, &found);
    destroy("MatmulPreferenceDestroy", preference);
    check("MatmulAlgoGetHeuristic", status == success && found == 0 ? dialect_.not_supported : status);
  }

  Library library_;
  const Dialect& dialect_;
  Matrices matrices_;
  Workspace workspace_;
  Multiply multiply_ = library_.need(full("Matmul"));
  Object handle_ = nullptr, operation_ = nullptr, a_ = nullptr, b_ = nullptr, c_ = nullptr;
  // ...MatmulHeuristicResult_t: the algorithm, which stands first, and less than as much again about it.
  std::array<std::uint64_t, 32> choice_{};
};

// As rocblas.h has it since ROCm 3.
class RocblasGemm : public Gemm {
 public:
  RocblasGemm(const Library& library, GemmShape shape, Matrices matrices)
      : library_(library), shape_(shape), matrices_(matrices) {
    int (*const create)(Object*) = library_.need("rocblas_create_handle");
    check("rocblas_create_handle", create(&handle_));
  }
  ~RocblasGemm() override {
    int (*const destroy)(Object) = library_.look_up("rocblas_destroy_handle");
    if (handle_ != nullptr && destroy != nullptr) destroy(handle_);
  }
  RocblasGemm(const RocblasGemm&) = delete;
  RocblasGemm& operator=(const RocblasGemm&) = delete;

  void launch(Stream stream) override {
    constexpr int no_transpose = 111;         // rocblas_operation_none
    constexpr int of_bf16 = 168, sums = 151;  // rocblas_datatype: bf16, fp32
    constexpr int standard_algorithm = 0;
    const float one = 1.0f, zero = 0.0f;
    const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n), k = static_cast<int>(shape_.k);
    check("rocblas_set_stream", set_stream_(handle_, stream));
    check("rocblas_gemm_ex",
          multiply_(handle_, no_transpose, no_transpose, n, m, k, &one, matrices_.b, of_bf16, n, matrices_.a, of_bf16,
                    k, &zero, matrices_.c, of_bf16, n, matrices_.c, of_bf16, n, sums, standard_algorithm, 0, 0));
  }

 private:
  using Multiply = int (*)(Object, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                           const void*, const void*, int, int, void*, int, int, int, int, std::int32_t, std::uint32_t);

  static void check(const char* name, int status) {
    if (status != success) throw GpuError(GpuError::Kind::failed, fmt::format("{}: status {}", name, status));
  }

  Library library_;
  GemmShape shape_;
  Matrices matrices_;
  Multiply multiply_ = library_.need("rocblas_gemm_ex");
  int (*set_stream_)(Object, Stream) = library_.need("rocblas_set_stream");
  Object handle_ = nullptr;
};

}  // namespace

GemmLibrary::GemmLibrary(Vendor vendor, const std::vector<std::string>& folders) : vendor_(vendor) {
  if (vendor == Vendor::nvidia) {
    lt_ = Library::find({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, folders);
    return;
  }
  lt_ = Library::find_newest("libhipblaslt.so", folders);
  rocblas_ = Library::find(
      {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"}, folders);
}

std::string GemmLibrary::name() const {
  if (vendor_ == Vendor::amd) return lt_ ? "hipBLASLt" : "rocBLAS";
  std::size_t (*const ask)() = lt_.look_up("cublasLtGetVersion");
  if (ask == nullptr) return "cuBLASLt of unknown version";
  const std::size_t version = ask();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<Gemm> GemmLibrary::prepare(GemmShape shape, Matrices matrices, std::optional<int> cus,
                                           Workspace workspace) const {
  if (vendor_ == Vendor::nvidia) return std::make_unique<LtGemm>(lt_, cublas, shape, matrices, cus, workspace);
  // There CUs are limited by the stream's mask.
  if (lt_) return std::make_unique<LtGemm>(lt_, hipblas, shape, matrices, std::nullopt, workspace);
  return std::make_unique<RocblasGemm>(rocblas_, shape, matrices);
}

}  // namespace c3sim::measure
