// Dtype lists the number formats of matrix products and of the operands in memory.
#pragma once

#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

// tf32 is single precision in memory; its products keep ten mantissa bits. int4 has a two-byte scale per 128 numbers
// (GPTQ, AWQ), mxfp4 a one-byte scale per 32 (OCP Microscaling Formats 1.0): weights are unpacked from both.
enum class Dtype { bf16, fp16, fp8, tf32, fp32, int4, mxfp4 };
// all_names() gives the names that the command line and platform files use.
constexpr auto all_names(Dtype) { return sim::names("bf16", "fp16", "fp8", "tf32", "fp32", "int4", "mxfp4"); }
using sim::to_string;
inline constexpr auto all_dtypes = sim::all_of<Dtype>();

constexpr sim::Bytes size_of(Dtype dtype) {
  if (dtype == Dtype::int4) return sim::Bytes(0.5 + 2.0 / 128.0);
  if (dtype == Dtype::mxfp4) return sim::Bytes(0.5 + 1.0 / 32.0);
  if (dtype == Dtype::fp8) return sim::Bytes(1.0);
  return sim::Bytes(dtype == Dtype::bf16 || dtype == Dtype::fp16 ? 2.0 : 4.0);
}

}  // namespace c3sim::models
