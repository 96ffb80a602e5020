// GEMMs by hipBLASLt or, without it, rocBLAS. Neither header is in Debian, so that what is used of them is declared
// here.
#pragma once

#include <memory>
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

struct HipGemmLibraries {
  Library hipblaslt, rocblas;
  std::string name() const;  // of the one that is used; empty where there is none
};

// Of the GPU that is current on this thread. `workspace` is device memory.
std::unique_ptr<Gemm> prepare_hip_gemm(const HipGemmLibraries& libraries, GemmShape shape, Matrices matrices,
                                       void* workspace, std::size_t workspace_bytes);

}  // namespace c3sim::measure
