// GEMMs by cuBLASLt (with as many SMs as asked for, where it follows), hipBLASLt or, without it, rocBLAS. What is used
// of them is declared here: machines have the libraries more often than their headers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/backends/gpu_calls.h"

namespace c3sim::measure {

struct Workspace {  // on the device
  void* memory = nullptr;
  std::size_t bytes = 0;
};

class GemmLibrary {
 public:
  // One without a library has no name, and prepares nothing: GpuError.
  GemmLibrary(Vendor vendor, const std::vector<std::string>& folders);
  explicit operator bool() const { return lt_ || rocblas_; }
  std::string name() const;  // "cuBLASLt 13.1.0", "rocBLAS"

  // Of the GPU that is current on this thread.
  std::unique_ptr<Gemm> prepare(GemmShape shape, Matrices matrices, std::optional<int> cus, Workspace workspace) const;

 private:
  Vendor vendor_;
  Library lt_, rocblas_;
};

}  // namespace c3sim::measure
