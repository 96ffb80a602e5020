#include "calibrate/measure/backends/gpu_calls.h"

#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

// As cuda.h has the numbers (CUresult); those that hip_runtime_api.h has, too (hipError_t), are the same there.
GpuError::Kind severity_of(int result) {
  switch (result) {
    case 2:    // out of memory
    case 100:  // no device
    case 801:  // not supported
      return GpuError::Kind::unsupported;
    case 46:                        // device unavailable
    case 214:                       // ECC uncorrectable
    case 700:                       // illegal address
    case 702:                       // launch timeout
    case 714:                       // hardware stack error
    case 715:                       // illegal instruction
    case 716:                       // misaligned address
    case 719:                       // launch failed
    case 802:                       // system not ready
    case 999:                       // unknown
      return GpuError::Kind::lost;  // the GPU answers nothing else from now on
    default:
      return GpuError::Kind::failed;
  }
}

}  // namespace

void GpuCalls::check(int result, const char* call) const {
  if (result != success) throw GpuError(severity_of(result), fmt::format("{}: {}", call, text_of(result)));
}

std::string GpuCalls::text_of(int result) const {
  if (vendor_ == Vendor::amd) {
    const char* (*const name_of)(int) = library_.need("hipGetErrorName");
    return name_of(result);
  }
  const char* name = "an unknown error";
  const char* text = "";
  int (*const name_of)(int, const char**) = library_.need("cuGetErrorName");
  int (*const describe)(int, const char**) = library_.need("cuGetErrorString");
  name_of(result, &name);
  describe(result, &text);
  return fmt::format("{}, {}", name, text);
}

}  // namespace c3sim::measure
