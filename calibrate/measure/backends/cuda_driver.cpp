#include "calibrate/measure/backends/cuda_driver.h"

#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

CudaDriver::CudaDriver(Library library)
    : library_(std::move(library)), find_(library_.need<decltype(find_)>("cuGetProcAddress_v2")) {
  check(init(0), "cuInit");
}

void* CudaDriver::address(const char* name) const {
  void* found = nullptr;
  CUdriverProcAddressQueryResult how{};
  if (find_(name, &found, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &how) == CUDA_SUCCESS && found != nullptr) {
    return found;
  }
  throw GpuError(GpuError::Kind::unsupported,
                 fmt::format("the NVIDIA driver has no {} of CUDA {}.{}, which this program was built for", name,
                             CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10));
}

void CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = "an unknown error";
  const char* text = "";
  error_name(result, &name);
  error_text(result, &text);
  GpuError::Kind kind = GpuError::Kind::failed;
  switch (result) {
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_NO_DEVICE:
      kind = GpuError::Kind::unsupported;
      break;
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_UNKNOWN:
      kind = GpuError::Kind::lost;  // the context answers nothing else from now on
      break;
    default:
      break;
  }
  throw GpuError(kind, fmt::format("{}: {}, {}", call, name, text));
}

std::string CudaDriver::version() const {
  int version = 0;
  check(driver_version(&version), "cuDriverGetVersion");
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace c3sim::measure
