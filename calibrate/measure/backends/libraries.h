// Offers what both vendors have under two names: libraries of collectives and of GEMMs, and compilers of kernels. What
// is used of them is declared here, since machines have the libraries more often than their headers. Without a library
// its calls throw GpuError. A call for a GPU is for the one that is current on the thread.
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

class Libraries {
 public:
  // The libraries are looked for in `folders` first.
  Libraries(Vendor vendor, std::vector<std::string> folders);
  std::vector<std::string> versions() const;  // of the libraries found: "cuBLASLt 13.1.0", "hipBLASLt", "RCCL 2.28.9"
  std::vector<std::string> missing() const;

  // Both calls use NCCL or RCCL, which have one interface.
  GroupName name_group() const;
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) const;
  // Prepares a GEMM of cuBLASLt, which is asked to use `cus` SMs, or of hipBLASLt, for which `cus` has no effect.
  std::unique_ptr<Gemm> prepare_gemm(GemmShape shape, Matrices matrices, std::optional<int> cus,
                                     Workspace workspace) const;
  // Compiles device/kernels.cu by NVRTC or hipRTC and returns the module for an architecture ("sm_90", "gfx942").
  // Throws GpuError with the compiler's log.
  std::vector<char> compile_kernels(const std::string& architecture) const;

 private:
  Vendor vendor_;
  std::vector<std::string> folders_;
  Library collectives_, gemms_;
};

}  // namespace c3sim::measure
