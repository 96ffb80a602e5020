// What rocblas-bench prints of GEMMs (calibrate/readers/gemm_bench.h).
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rocblas_bench(std::string_view text);
Reading read_rocblas_bench(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
