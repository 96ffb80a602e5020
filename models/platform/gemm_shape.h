// A matrix product C[m x n] += A[m x k] * B[k x n], column-major as BLAS has it, bf16 unless said otherwise.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/platform/dtype.h"
#include "sim/config/choice.h"
#include "sim/config/config_text.h"
#include "sim/units.h"

namespace c3sim::models {

// How the operands of a product lie whose weights and inputs lie along the contraction: one of the gradient of its
// inputs (the weights) and both of that of its weights lie across theirs.
enum class Layout { forward, input_gradient, weight_gradient };
constexpr auto all_names(Layout) { return sim::names("forward", "input_gradient", "weight_gradient"); }

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Dtype dtype = Dtype::bf16;
  std::int64_t products = 1;  // so many alike in one kernel, each of operands of its own: batched, or grouped
  Layout layout = Layout::forward;
  std::optional<Dtype> weights{};  // format of A in memory, which a kernel unpacks; none: that of the product
  bool of_experts = false;         // by the kernels that serving frameworks have for experts of a layer

  static constexpr std::int64_t largest_extent = std::int64_t{1} << 24;
  static constexpr double element_bytes = 2.0;  // of bf16 and fp16

  double element() const { return size_of(dtype).value(); }  // bytes
  // Of A over that of B.
  double weight_ratio() const { return weights ? size_of(*weights).value() / element() : 1.0; }
  sim::Flops flops() const;          // of all products, as all here
  sim::Bytes operand_bytes() const;  // A and B
  // Bytes that any schedule must move: A and B read once, C written once.
  sim::Bytes compulsory_bytes() const;
  // As many operations, on operands that lie as those of tables and profiles do.
  GemmShape as_forward() const;
  auto operator<=>(const GemmShape&) const = default;
};

std::string to_string(const GemmShape& shape);  // "8192x57344x8192", "4096x4096x1024x8 fp32"

// Reads "MxNxK", or "MxNxKxPRODUCTS": whole numbers from 1 to 2^24 each (so that no count overflows).
// Where the text is none, the shape is one of which nothing else is wrong.
sim::Parsed<GemmShape> parse_gemm_shape(std::string_view text);

}  // namespace c3sim::models
