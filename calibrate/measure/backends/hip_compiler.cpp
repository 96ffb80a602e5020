#include "calibrate/measure/backends/hip_compiler.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hiprtc.h>

#include "calibrate/measure/backends/runtime_compiler.h"

namespace c3sim::measure {

namespace {

struct HipRtc {
  using Program = hiprtcProgram;
  static constexpr hiprtcResult success = HIPRTC_SUCCESS;
  static constexpr const char* name = "hipRTC";
  static constexpr const char* create_name = "hiprtcCreateProgram";
  decltype(&hiprtcCreateProgram) create;
  decltype(&hiprtcCompileProgram) compile;
  decltype(&hiprtcDestroyProgram) destroy;
  decltype(&hiprtcGetProgramLogSize) log_size;
  decltype(&hiprtcGetProgramLog) get_log;
  decltype(&hiprtcGetCodeSize) code_size;
  decltype(&hiprtcGetCode) get_code;
};

}  // namespace

std::vector<char> compile_for_hip(const Library& hiprtc, const char* source, const std::string& architecture) {
  const HipRtc compiler{.create = hiprtc.need<decltype(&hiprtcCreateProgram)>("hiprtcCreateProgram"),
                        .compile = hiprtc.need<decltype(&hiprtcCompileProgram)>("hiprtcCompileProgram"),
                        .destroy = hiprtc.need<decltype(&hiprtcDestroyProgram)>("hiprtcDestroyProgram"),
                        .log_size = hiprtc.need<decltype(&hiprtcGetProgramLogSize)>("hiprtcGetProgramLogSize"),
                        .get_log = hiprtc.need<decltype(&hiprtcGetProgramLog)>("hiprtcGetProgramLog"),
                        .code_size = hiprtc.need<decltype(&hiprtcGetCodeSize)>("hiprtcGetCodeSize"),
                        .get_code = hiprtc.need<decltype(&hiprtcGetCode)>("hiprtcGetCode")};
  return compile_kernels(compiler, source, architecture, {"--offload-arch=" + architecture, "-O3"});
}

}  // namespace c3sim::measure
