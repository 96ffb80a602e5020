#include "calibrate/readers/hipblaslt_bench.h"

#include "calibrate/readers/gemm_bench.h"

namespace c3sim::calibrate {

namespace {

// One table of tiles stands for all layouts: its efficiencies are of TN, and of what PyTorch calls.
std::string_view hipblaslt_kernels(std::string_view) { return "gpu.gemm.library=hipblaslt"; }

constexpr GemmBench hipblaslt{"hipblaslt-bench", "hipblaslt-Gflops", "hipBLASLt", hipblaslt_kernels};

}  // namespace

bool is_hipblaslt_bench(std::string_view text) { return is_gemm_bench(hipblaslt, text); }

Reading read_hipblaslt_bench(std::string_view text, const std::string& name) {
  return read_gemm_bench(hipblaslt, text, name);
}

}  // namespace c3sim::calibrate
