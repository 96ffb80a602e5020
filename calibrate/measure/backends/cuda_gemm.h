// GEMMs by cuBLASLt, with as many SMs as asked for where it follows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

// Of the GPU that is current on this thread. `workspace` is device memory.
std::unique_ptr<Gemm> prepare_cublas_gemm(const Library& library, GemmShape shape, Matrices matrices,
                                          std::optional<int> cus, void* workspace, std::size_t workspace_bytes);

std::string cublas_version(const Library& library);  // "13.1.0"

}  // namespace c3sim::measure
