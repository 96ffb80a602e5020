#include "calibrate/measure/backends/gpu_calls.h"

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

GpuError cuda_fault(const Library& driver, const std::string& call, int result) {
  const char* name = "an unknown error";
  const char* text = "";
  driver.result("cuGetErrorName", result, &name);
  driver.result("cuGetErrorString", result, &text);
  return {severity_of(result), "{}: {}, {}", call, name, text};
}

GpuError hip_fault(const Library& driver, const std::string& call, int result) {
  const char* (*const name_of)(int) = driver.need("hipGetErrorName");
  return {severity_of(result), "{}: {}", call, name_of(result)};
}

}  // namespace c3sim::measure
