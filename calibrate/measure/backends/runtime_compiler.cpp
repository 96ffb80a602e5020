#include "calibrate/measure/backends/runtime_compiler.h"

#include <fmt/format.h>

#include <array>

#include "calibrate/measure/backends/backend.h"
#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

std::vector<char> compile_kernels(Vendor vendor, const Library& compiler, const std::string& architecture) {
  const bool nvidia = vendor == Vendor::nvidia;
  const auto call = [&](const char* name) { return compiler.need((nvidia ? "nvrtc" : "hiprtc") + std::string(name)); };
  int (*const create)(Object*, const char*, const char*, int, const char* const*, const char* const*) =
      call("CreateProgram");
  int (*const compile)(Object, int, const char* const*) = call("CompileProgram");
  int (*const destroy)(Object*) = call("DestroyProgram");
  int (*const log_size)(Object, std::size_t*) = call("GetProgramLogSize");
  int (*const get_log)(Object, char*) = call("GetProgramLog");
  int (*const code_size)(Object, std::size_t*) = call(nvidia ? "GetCUBINSize" : "GetCodeSize");
  int (*const get_code)(Object, char*) = call(nvidia ? "GetCUBIN" : "GetCode");

  Object program = nullptr;
  if (create(&program, kernel_source(), "kernels.cu", 0, nullptr, nullptr) != success) {
    throw GpuError(GpuError::Kind::failed, fmt::format("{}CreateProgram failed", nvidia ? "nvrtc" : "hiprtc"));
  }
  const std::string target = (nvidia ? "--gpu-architecture=" : "--offload-arch=") + architecture;
  const std::array words{target.c_str(), nvidia ? "--std=c++17" : "-O3"};
  std::size_t size = 0;
  std::vector<char> code;
  if (compile(program, static_cast<int>(words.size()), words.data()) == success) {
    code_size(program, &size);
    code.resize(size);
    get_code(program, code.data());
  }
  log_size(program, &size);
  std::string log(size, '\0');
  if (size > 0) get_log(program, log.data());
  destroy(&program);
  if (!code.empty()) return code;
  throw GpuError(GpuError::Kind::failed, fmt::format("{} cannot compile the kernels for {}: {}",
                                                     nvidia ? "NVRTC" : "hipRTC", architecture, log));
}

}  // namespace c3sim::measure
