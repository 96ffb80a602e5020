#include "calibrate/measure/backends/runtime_compiler.h"

#include <array>

#include "calibrate/measure/backends/backend.h"

namespace c3sim::measure {

std::vector<char> compile_kernels(Vendor vendor, const Library& compiler, const std::string& architecture) {
  const bool nvidia = vendor == Vendor::nvidia;
  const auto call = [&](const char* name, auto... parameters) {
    return compiler.result((nvidia ? "nvrtc" : "hiprtc") + std::string(name), parameters...);
  };
  Object program = nullptr;
  const char* const* const no_headers = nullptr;
  if (call("CreateProgram", &program, kernel_source(), "kernels.cu", 0, no_headers, no_headers) != success) {
    throw GpuError(GpuError::Kind::failed, "{}CreateProgram failed", nvidia ? "nvrtc" : "hiprtc");
  }
  const std::string target = (nvidia ? "--gpu-architecture=" : "--offload-arch=") + architecture;
  const std::array words{target.c_str(), nvidia ? "--std=c++17" : "-O3"};
  std::size_t size = 0;
  std::vector<char> code;
  if (call("CompileProgram", program, static_cast<int>(words.size()), words.data()) == success) {
    call(nvidia ? "GetCUBINSize" : "GetCodeSize", program, &size);
    code.resize(size);
    call(nvidia ? "GetCUBIN" : "GetCode", program, code.data());
  }
  call("GetProgramLogSize", program, &size);
  std::string log(size, '\0');
  if (size > 0) call("GetProgramLog", program, log.data());
  call("DestroyProgram", &program);
  if (!code.empty()) return code;
  throw GpuError(GpuError::Kind::failed, "{} cannot compile the kernels for {}: {}", nvidia ? "NVRTC" : "hipRTC",
                 architecture, log);
}

}  // namespace c3sim::measure
