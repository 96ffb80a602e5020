#include "calibrate/readers/rocblas_bench.h"

#include "calibrate/readers/gemm_bench.h"

namespace c3sim::calibrate {

namespace {

// As configs/platforms/mi300x.yaml names them, from tables that Tensile was tuned for.
std::string_view rocblas_kernels(std::string_view layout) {
  if (layout == "NN") return "gpu.gemm.library=rocblas";
  if (layout == "NT") return "gpu.gemm.library=rocblas_nt";
  if (layout == "TT") return "gpu.gemm.library=rocblas_tt";
  return {};
}

constexpr GemmBench rocblas{"rocblas-bench", "rocblas-Gflops", "rocBLAS", rocblas_kernels};

}  // namespace

bool is_rocblas_bench(std::string_view text) { return is_gemm_bench(rocblas, text); }

Reading read_rocblas_bench(std::string_view text, const std::string& name) {
  return read_gemm_bench(rocblas, text, name);
}

}  // namespace c3sim::calibrate
