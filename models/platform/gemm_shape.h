// A GemmShape is a matrix product C[m x n] += A[m x k] * B[k x n], column-major as in BLAS, of bf16 by default.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/choice.h"
#include "sim/config/config_text.h"
#include "sim/units.h"

namespace c3sim::models {

// A Dtype is a number format of matrix products and of the operands in memory.
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

// A Layout tells how weights and inputs lie in memory: both along the contraction (forward), the weights across it
// (gradient of the inputs), or both across it (gradient of the weights).
enum class Layout { forward, input_gradient, weight_gradient };
constexpr auto all_names(Layout) { return sim::names("forward", "input_gradient", "weight_gradient"); }

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Dtype dtype = Dtype::bf16;
  std::int64_t products = 1;  // number of equal products in one kernel, batched or grouped, each with its own operands
  Layout layout = Layout::forward;
  std::optional<Dtype> weights{};  // format of A in memory, which a kernel unpacks; none: the format of the product
  bool of_experts = false;         // computed by kernels that serving frameworks have for the experts of a layer

  static constexpr std::int64_t largest_extent = std::int64_t{1} << 24;
  static constexpr double element_bytes = 2.0;  // size of bf16 and fp16

  double element() const { return size_of(dtype).value(); }  // bytes
  // Returns the size of an element of A over that of B.
  double weight_ratio() const { return weights ? size_of(*weights).value() / element() : 1.0; }
  sim::Flops flops() const;          // operations of all products; the sizes below are of all products, too
  sim::Bytes operand_bytes() const;  // size of A and B
  // Returns the bytes that any schedule must move: A and B are read once, C is written once.
  sim::Bytes compulsory_bytes() const;
  // Returns the product with the operand layout of tables and profiles, which needs equally many operations.
  GemmShape as_forward() const;
  auto operator<=>(const GemmShape&) const = default;
};

std::string extents_of(const GemmShape& shape);  // "8192x57344x8192", "4096x4096x1024x8"
std::string to_string(const GemmShape& shape);   // "8192x57344x8192", "4096x4096x1024x8 fp32"

// Parses "MxNxK" or "MxNxKxPRODUCTS", each a whole number from 1 to 2^24 so that no count overflows. The shape of an
// invalid text is 1x1x1, which causes no further faults.
sim::Parsed<GemmShape> parse_gemm_shape(std::string_view text);

}  // namespace c3sim::models
