#include "calibrate/measure/backends/cuda_gemm.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(status == CUBLAS_STATUS_NOT_SUPPORTED ? GpuError::Kind::unsupported : GpuError::Kind::failed,
                 fmt::format("{}: status {}", call, static_cast<int>(status)));
}

// A matrix of rows is, to a library that thinks in columns, its transpose: C^T = B^T A^T.
class CublasGemm : public Gemm {
 public:
  CublasGemm(const Library& library, GemmShape shape, Matrices matrices, std::optional<int> cus, void* workspace,
             std::size_t workspace_bytes)
      : library_(library), matrices_(matrices), workspace_(workspace), workspace_bytes_(workspace_bytes) {
    check(create_(&handle_), "cublasLtCreate");
    const auto create_operation = library_.need<decltype(&cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
    check(create_operation(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    if (cus) {
      const auto set = library_.need<decltype(&cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
      const int32_t target = *cus;
      check(set(operation_, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof(target)),
            "cublasLtMatmulDescSetAttribute");
    }
    b_ = layout(shape.n, shape.k);
    a_ = layout(shape.k, shape.m);
    c_ = layout(shape.n, shape.m);
    choose();
  }

  ~CublasGemm() override {
    for (const cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
      if (layout != nullptr) destroy_layout_(layout);
    }
    if (operation_ != nullptr) destroy_operation_(operation_);
    if (handle_ != nullptr) destroy_(handle_);
  }
  CublasGemm(const CublasGemm&) = delete;
  CublasGemm& operator=(const CublasGemm&) = delete;

  void launch(Stream stream) override {
    const float one = 1.0f, zero = 0.0f;
    check(multiply_(handle_, operation_, &one, matrices_.b, b_, matrices_.a, a_, &zero, matrices_.c, c_, matrices_.c,
                    c_, &chosen_.algo, workspace_, workspace_bytes_, reinterpret_cast<cudaStream_t>(stream)),
          "cublasLtMatmul");
  }

 private:
  cublasLtMatrixLayout_t layout(std::int64_t rows, std::int64_t columns) const {
    const auto create = library_.need<decltype(&cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
    cublasLtMatrixLayout_t layout = nullptr;
    check(create(&layout, CUDA_R_16BF, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
          "cublasLtMatrixLayoutCreate");
    return layout;
  }

  // The kernel that the library itself thinks best.
  void choose() {
    const auto create = library_.need<decltype(&cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate");
    const auto set =
        library_.need<decltype(&cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute");
    const auto destroy = library_.need<decltype(&cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy");
    const auto choose = library_.need<decltype(&cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
    cublasLtMatmulPreference_t preference = nullptr;
    check(create(&preference), "cublasLtMatmulPreferenceCreate");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes_, sizeof(workspace_bytes_));
    int found = 0;
    const cublasStatus_t status = choose(handle_, operation_, b_, a_, c_, c_, preference, 1, &chosen_, &found);
    destroy(preference);
    check(found == 0 && status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status,
          "cublasLtMatmulAlgoGetHeuristic");
  }

  Library library_;
  decltype(&cublasLtCreate) create_ = library_.need<decltype(create_)>("cublasLtCreate");
  decltype(&cublasLtDestroy) destroy_ = library_.need<decltype(destroy_)>("cublasLtDestroy");
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout_ =
      library_.need<decltype(destroy_layout_)>("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatmulDescDestroy) destroy_operation_ =
      library_.need<decltype(destroy_operation_)>("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmul) multiply_ = library_.need<decltype(multiply_)>("cublasLtMatmul");
  Matrices matrices_;
  void* workspace_;
  std::size_t workspace_bytes_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace

std::unique_ptr<Gemm> prepare_cublas_gemm(const Library& library, GemmShape shape, Matrices matrices,
                                          std::optional<int> cus, void* workspace, std::size_t workspace_bytes) {
  return std::make_unique<CublasGemm>(library, shape, matrices, cus, workspace, workspace_bytes);
}

std::string cublas_version(const Library& library) {
  const auto ask = library.look_up<decltype(&cublasLtGetVersion)>("cublasLtGetVersion");
  if (ask == nullptr) return "of unknown version";
  const std::size_t version = ask();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace c3sim::measure
