// Number formats of matrix products, and of what they work on.
#pragma once

#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

// tf32 is single precision in memory whose products drop all but ten bits.
enum class Dtype { bf16, fp16, fp8, tf32, fp32 };
// As on the command line and in platform files.
constexpr auto all_names(Dtype) { return sim::names("bf16", "fp16", "fp8", "tf32", "fp32"); }
using sim::to_string;
inline constexpr auto all_dtypes = sim::all_of<Dtype>();

constexpr sim::Bytes size_of(Dtype dtype) {
  if (dtype == Dtype::fp8) return sim::Bytes(1.0);
  return sim::Bytes(dtype == Dtype::bf16 || dtype == Dtype::fp16 ? 2.0 : 4.0);
}

}  // namespace c3sim::models
