#include "calibrate/measure/backends/hip_driver.h"

#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

void HipDriver::check(hipError_t result, const char* call) const {
  if (result == hipSuccess) return;
  GpuError::Kind kind = GpuError::Kind::failed;
  switch (result) {
    case hipErrorNotSupported:
    case hipErrorOutOfMemory:
    case hipErrorNoDevice:
      kind = GpuError::Kind::unsupported;
      break;
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorLaunchTimeOut:
    case hipErrorECCNotCorrectable:
    case hipErrorUnknown:
      kind = GpuError::Kind::lost;  // nothing works from now on
      break;
    default:
      break;
  }
  throw GpuError(kind, fmt::format("{}: {}", call, error_name(result)));
}

std::string HipDriver::version() const {
  constexpr int major = 10'000'000, minor = 100'000;
  int version = 0;
  check(runtime_version(&version), "hipRuntimeGetVersion");
  return fmt::format("{}.{}.{}", version / major, version % major / minor, version % minor);
}

}  // namespace c3sim::measure
