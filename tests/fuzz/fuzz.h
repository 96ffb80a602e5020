// Every fuzzer defines fuzz() of the bytes that libFuzzer draws, and requires what must hold whatever they are. A run
// in which a requirement fails is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/config/config_error.h"

// Each fuzzer defines this function.
void fuzz(std::string_view bytes);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}

inline void require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: this must hold for any input\n", file, line);
  std::abort();
}

// Calls what may end in a fault of the user's, which says what is wrong.
void or_fault(const auto& read) {
  try {
    read();
  } catch (const c3sim::sim::ConfigError& error) {
    require(!error.faults().empty());
  }
}
