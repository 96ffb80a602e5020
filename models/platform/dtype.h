// Number formats of matrix products, and of what they work on.
#pragma once

#include <array>
#include <string_view>

#include "sim/units.h"

namespace c3sim::models {

// tf32 is single precision in memory whose products drop all but ten bits.
enum class Dtype { bf16, fp16, fp8, tf32, fp32 };
inline constexpr std::array all_dtypes{Dtype::bf16, Dtype::fp16, Dtype::fp8, Dtype::tf32, Dtype::fp32};

constexpr sim::Bytes size_of(Dtype dtype) {
  if (dtype == Dtype::fp8) return sim::Bytes(1.0);
  return sim::Bytes(dtype == Dtype::bf16 || dtype == Dtype::fp16 ? 2.0 : 4.0);
}

// "bf16", as on the command line and in platform files.
constexpr std::string_view to_string(Dtype dtype) {
  constexpr std::array<std::string_view, all_dtypes.size()> names{"bf16", "fp16", "fp8", "tf32", "fp32"};
  return names[static_cast<std::size_t>(dtype)];
}

}  // namespace c3sim::models
