// What a rule on static sizes may look at: quantities that follow from the shape of a GEMM and the size of an array
// alone, on whatever machine (FiCCO, arXiv 2512.10236, calls them operator sizes).
#pragma once

#include <span>
#include <string_view>

#include "models/platform/gemm_shape.h"
#include "sim/units.h"

namespace c3sim::study {

// What a decision is about: a GEMM, an array, or both.
struct Sizes {
  models::GemmShape gemm{1, 1, 1};
  sim::Bytes bytes{1.0};
};

struct SizeFeature {
  std::string_view name;        // "flops_per_byte"
  std::string_view about;       // "operations of the GEMM per byte of the array"
  std::string_view expression;  // of m, n, k and bytes, as C++ and people read it
  double (*of)(const Sizes& sizes);
};

std::span<const SizeFeature> pair_features();        // of a GEMM and an array
std::span<const SizeFeature> gemm_features();        // of a GEMM whose operand or result is the array
std::span<const SizeFeature> collective_features();  // of an array

}  // namespace c3sim::study
