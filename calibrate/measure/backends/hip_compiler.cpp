#include "calibrate/measure/backends/hip_compiler.h"

#include <fmt/format.h>

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hiprtc.h>

#include <array>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

std::vector<char> compile_for_hip(const Library& hiprtc, const char* source, const std::string& architecture) {
  const auto create = hiprtc.need<decltype(&hiprtcCreateProgram)>("hiprtcCreateProgram");
  const auto compile = hiprtc.need<decltype(&hiprtcCompileProgram)>("hiprtcCompileProgram");
  const auto destroy = hiprtc.need<decltype(&hiprtcDestroyProgram)>("hiprtcDestroyProgram");
  const auto log_size = hiprtc.need<decltype(&hiprtcGetProgramLogSize)>("hiprtcGetProgramLogSize");
  const auto get_log = hiprtc.need<decltype(&hiprtcGetProgramLog)>("hiprtcGetProgramLog");
  const auto code_size = hiprtc.need<decltype(&hiprtcGetCodeSize)>("hiprtcGetCodeSize");
  const auto get_code = hiprtc.need<decltype(&hiprtcGetCode)>("hiprtcGetCode");

  hiprtcProgram program = nullptr;
  if (create(&program, source, "kernels.cu", 0, nullptr, nullptr) != HIPRTC_SUCCESS) {
    throw GpuError(GpuError::Kind::failed, "hiprtcCreateProgram failed");
  }
  const std::string target = "--offload-arch=" + architecture;
  std::array<const char*, 2> options{target.c_str(), "-O3"};
  const hiprtcResult result = compile(program, static_cast<int>(options.size()), options.data());
  std::vector<char> code;
  if (result == HIPRTC_SUCCESS) {
    std::size_t size = 0;
    code_size(program, &size);
    code.resize(size);
    get_code(program, code.data());
  }
  std::size_t size = 0;
  log_size(program, &size);
  std::string log(size, '\0');
  if (size > 0) get_log(program, log.data());
  destroy(&program);
  if (code.empty()) {
    throw GpuError(GpuError::Kind::failed,
                   fmt::format("hipRTC cannot compile the kernels for {}: {}", architecture, log));
  }
  return code;
}

}  // namespace c3sim::measure
