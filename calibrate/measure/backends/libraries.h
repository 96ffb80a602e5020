// What both vendors have under two names: libraries of collectives and of GEMMs, and compilers of kernels. What is used
// of them is declared here: machines have the libraries more often than their headers. Without a library every call
// throws GpuError; what belongs to a GPU is of the one that is current on the thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/backends/gpu_calls.h"

namespace c3sim::measure {

// NCCL or RCCL, which have one interface.
Library find_collectives(Vendor vendor, const std::vector<std::string>& folders);
std::string version_of_collectives(const Library& library);  // "2.28.9"
GroupName name_group(const Library& library);
std::unique_ptr<Communicator> join_group(const Library& library, const GroupName& group, int rank, int members,
                                         int channels);

struct Workspace {  // on the device
  void* memory = nullptr;
  std::size_t bytes = 0;
};

// GEMMs by cuBLASLt (with as many SMs as asked for, where it follows) or hipBLASLt.
class GemmLibrary {
 public:
  // One without a library has no name, and prepares nothing: GpuError.
  GemmLibrary(Vendor vendor, const std::vector<std::string>& folders);
  explicit operator bool() const { return bool(library_); }
  std::string name() const;  // "cuBLASLt 13.1.0", "hipBLASLt"
  std::unique_ptr<Gemm> prepare(GemmShape shape, Matrices matrices, std::optional<int> cus, Workspace workspace) const;

 private:
  Vendor vendor_;
  Library library_;
};

// A module of device/kernels.cu for that architecture ("sm_90", "gfx942"), compiled where it runs by NVRTC or hipRTC.
// GpuError with the compiler's log.
std::vector<char> compile_kernels(Vendor vendor, const std::vector<std::string>& folders,
                                  const std::string& architecture);

}  // namespace c3sim::measure
