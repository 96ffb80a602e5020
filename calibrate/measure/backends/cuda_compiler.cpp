#include "calibrate/measure/backends/cuda_compiler.h"

#include <nvrtc.h>

#include "calibrate/measure/backends/runtime_compiler.h"

namespace c3sim::measure {

namespace {

struct Nvrtc {
  using Program = nvrtcProgram;
  static constexpr nvrtcResult success = NVRTC_SUCCESS;
  static constexpr const char* name = "NVRTC";
  static constexpr const char* create_name = "nvrtcCreateProgram";
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) get_log;
  decltype(&nvrtcGetCUBINSize) code_size;
  decltype(&nvrtcGetCUBIN) get_code;
};

}  // namespace

std::vector<char> compile_for_cuda(const Library& nvrtc, const char* source, const std::string& architecture) {
  const Nvrtc compiler{.create = nvrtc.need<decltype(&nvrtcCreateProgram)>("nvrtcCreateProgram"),
                       .compile = nvrtc.need<decltype(&nvrtcCompileProgram)>("nvrtcCompileProgram"),
                       .destroy = nvrtc.need<decltype(&nvrtcDestroyProgram)>("nvrtcDestroyProgram"),
                       .log_size = nvrtc.need<decltype(&nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize"),
                       .get_log = nvrtc.need<decltype(&nvrtcGetProgramLog)>("nvrtcGetProgramLog"),
                       .code_size = nvrtc.need<decltype(&nvrtcGetCUBINSize)>("nvrtcGetCUBINSize"),
                       .get_code = nvrtc.need<decltype(&nvrtcGetCUBIN)>("nvrtcGetCUBIN")};
  return compile_kernels(compiler, source, architecture, {"--gpu-architecture=" + architecture, "--std=c++17"});
}

}  // namespace c3sim::measure
