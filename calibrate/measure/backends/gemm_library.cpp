#include "calibrate/measure/backends/gemm_library.h"

#include <array>

namespace c3sim::measure {

namespace {

// All of them think in columns: a matrix of rows is to them its transpose, and C^T = B^T A^T.

// cuBLASLt, and hipBLASLt as ROCm 6 and 7 have it: the same calls with other names and numbers.
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
  // The kernel that the library itself thinks best.
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
  // ...MatmulHeuristicResult_t: the algorithm, which stands first, and less than as much again about it.
  std::array<std::uint64_t, 32> choice_{};
};

// As rocblas.h has it since ROCm 3.
class RocblasGemm : public Gemm {
 public:
  RocblasGemm(const Library& library, GemmShape shape, Matrices matrices)
      : library_(library), shape_(shape), matrices_(matrices) {
    library_.call("rocblas_create_handle", &handle_);
  }
  ~RocblasGemm() override {
    if (handle_ != nullptr) library_.succeeds("rocblas_destroy_handle", handle_);
  }
  RocblasGemm(const RocblasGemm&) = delete;
  RocblasGemm& operator=(const RocblasGemm&) = delete;

  void launch(Stream stream) override {
    constexpr int no_transpose = 111;         // rocblas_operation_none
    constexpr int of_bf16 = 168, sums = 151;  // rocblas_datatype: bf16, fp32
    constexpr int standard_algorithm = 0;
    const float one = 1.0f, zero = 0.0f;
    const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n), k = static_cast<int>(shape_.k);
    set_stream_(handle_, stream);
    multiply_(handle_, no_transpose, no_transpose, n, m, k, &one, matrices_.b, of_bf16, n, matrices_.a, of_bf16, k,
              &zero, matrices_.c, of_bf16, n, matrices_.c, of_bf16, n, sums, standard_algorithm, 0, 0);
  }

 private:
  Library library_;
  GemmShape shape_;
  Matrices matrices_;
  Library::Call<Object, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                const void*, int, int, void*, int, int, int, int, std::int32_t, std::uint32_t>
      multiply_{library_, "rocblas_gemm_ex"};
  Library::Call<Object, Stream> set_stream_{library_, "rocblas_set_stream"};
  Object handle_ = nullptr;
};

}  // namespace

GemmLibrary::GemmLibrary(Vendor vendor, const std::vector<std::string>& folders) : vendor_(vendor) {
  if (vendor == Vendor::nvidia) {
    lt_ = Library::find({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, folders,
                        lt_fault<cublas.not_supported>);
    return;
  }
  lt_ = Library::find_newest("libhipblaslt.so", folders, lt_fault<hipblas.not_supported>);
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
