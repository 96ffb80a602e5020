// What rocblas-bench and hipblaslt-bench print of GEMMs: a line that names columns from transA on, below it the values.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// What sets the one program apart from the other.
struct GemmBench {
  std::string_view program;  // "rocblas-bench"
  std::string_view rate;     // its column of Gflop/s: "rocblas-Gflops"
  std::string_view library;  // for people
  // The assignment that makes a platform use the kernels of so transposed operands ("TN"); empty where none has them.
  std::string_view (*kernels_of)(std::string_view layout);
};

bool is_gemm_bench(const GemmBench& bench, std::string_view text);
// A measurement per row: the time of a kernel in a loop of them.
Reading read_gemm_bench(const GemmBench& bench, std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
