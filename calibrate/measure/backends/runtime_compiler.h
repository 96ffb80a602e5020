// Compiles the kernels where they run: NVRTC and hipRTC have the same calls under other names.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

// The code of the source, compiled with these two options. A Compiler has the library's calls (create, compile,
// destroy, log_size, get_log, code_size, get_code), the type Program, what calls return on `success`, and `name`.
// Throws GpuError with the compiler's log.
template <class Compiler>
std::vector<char> compile_kernels(const Compiler& compiler, const char* source, const std::string& architecture,
                                  const std::array<std::string, 2>& options) {
  typename Compiler::Program program = nullptr;
  if (compiler.create(&program, source, "kernels.cu", 0, nullptr, nullptr) != Compiler::success) {
    throw GpuError(GpuError::Kind::failed, fmt::format("{} failed", Compiler::create_name));
  }
  std::array<const char*, 2> words{options[0].c_str(), options[1].c_str()};
  std::vector<char> code;
  if (compiler.compile(program, static_cast<int>(words.size()), words.data()) == Compiler::success) {
    std::size_t size = 0;
    static_cast<void>(compiler.code_size(program, &size));
    code.resize(size);
    static_cast<void>(compiler.get_code(program, code.data()));
  }
  std::size_t size = 0;
  static_cast<void>(compiler.log_size(program, &size));
  std::string log(size, '\0');
  if (size > 0) static_cast<void>(compiler.get_log(program, log.data()));
  static_cast<void>(compiler.destroy(&program));
  if (code.empty()) {
    throw GpuError(GpuError::Kind::failed,
                   fmt::format("{} cannot compile the kernels for {}: {}", Compiler::name, architecture, log));
  }
  return code;
}

}  // namespace c3sim::measure
