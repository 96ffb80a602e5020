#include "models/platform/gemm_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace c3sim::models {
namespace {

double product(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }
}  // namespace

sim::Flops GemmShape::flops() const { return sim::Flops(2.0 * product(m, n) * product(k, products)); }

sim::Bytes GemmShape::operand_bytes() const {
  const double rows = weight_ratio() * static_cast<double>(m) + static_cast<double>(n);
  return sim::Bytes(element() * product(k, products) * rows);
}

sim::Bytes GemmShape::compulsory_bytes() const {
  const double elements = weight_ratio() * product(m, k) + product(k, n) + product(m, n);
  return sim::Bytes(element() * static_cast<double>(products) * elements);
}

GemmShape GemmShape::as_forward() const {
  GemmShape shape = *this;
  shape.layout = Layout::forward;
  shape.weights.reset();
  return shape;
}

std::string extents_of(const GemmShape& shape) {
  const std::string extents = fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
  return shape.products > 1 ? fmt::format("{}x{}", extents, shape.products) : extents;
}

std::string to_string(const GemmShape& shape) {
  std::string extents = extents_of(shape);
  if (shape.dtype != Dtype::bf16) extents += fmt::format(" {}", to_string(shape.dtype));
  if (shape.weights) extents += fmt::format(", weights {}", to_string(*shape.weights));
  return shape.layout == Layout::forward ? extents : fmt::format("{}, {}", extents, to_string(shape.layout));
}

sim::Parsed<GemmShape> parse_gemm_shape(std::string_view text) {
  const std::vector<std::int64_t> extents = sim::parse_extents(text);
  const bool has_so_many = extents.size() == 3 || extents.size() == 4;
  if (!has_so_many || std::ranges::max(extents) > GemmShape::largest_extent) {
    return {
        {1, 1, 1},
        fmt::format("'{}' is no GEMM shape: write MxNxK with three whole numbers from 1 to {}, such as 8192x57344x8192",
                    text.substr(0, 80), GemmShape::largest_extent)};
  }
  GemmShape shape{extents[0], extents[1], extents[2]};
  if (extents.size() == 4) shape.products = extents[3];
  return {shape, {}};
}

}  // namespace c3sim::models
