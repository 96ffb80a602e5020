#include "calibrate/measure/backends/cuda_compiler.h"

#include <fmt/format.h>
#include <nvrtc.h>

#include <array>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

std::vector<char> compile_for_cuda(const Library& nvrtc, const char* source, const std::string& architecture) {
  const auto create = nvrtc.need<decltype(&nvrtcCreateProgram)>("nvrtcCreateProgram");
  const auto compile = nvrtc.need<decltype(&nvrtcCompileProgram)>("nvrtcCompileProgram");
  const auto destroy = nvrtc.need<decltype(&nvrtcDestroyProgram)>("nvrtcDestroyProgram");
  const auto log_size = nvrtc.need<decltype(&nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize");
  const auto get_log = nvrtc.need<decltype(&nvrtcGetProgramLog)>("nvrtcGetProgramLog");
  const auto code_size = nvrtc.need<decltype(&nvrtcGetCUBINSize)>("nvrtcGetCUBINSize");
  const auto get_code = nvrtc.need<decltype(&nvrtcGetCUBIN)>("nvrtcGetCUBIN");

  nvrtcProgram program = nullptr;
  if (create(&program, source, "kernels.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    throw GpuError(GpuError::Kind::failed, "nvrtcCreateProgram failed");
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const std::array<const char*, 2> options{target.c_str(), "--std=c++17"};
  const nvrtcResult result = compile(program, static_cast<int>(options.size()), options.data());
  std::vector<char> code;
  if (result == NVRTC_SUCCESS) {
    std::size_t size = 0;
    code_size(program, &size);
    code.resize(size);
    get_code(program, code.data());
  }
  std::size_t size = 0;
  log_size(program, &size);
  std::string log(size, '\0');
  get_log(program, log.data());
  destroy(&program);
  if (code.empty()) {
    throw GpuError(GpuError::Kind::failed,
                   fmt::format("NVRTC cannot compile the kernels for {}: {}", architecture, log));
  }
  return code;
}

}  // namespace c3sim::measure
