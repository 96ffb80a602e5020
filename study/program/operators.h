// Element-wise operators by name: what each reads, writes and computes, from configs/operators.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/elementwise.h"
#include "sim/units.h"

namespace c3sim::study {

// For each element of the result: elements read and written, vector operations done.
struct ElementwiseOperator {
  std::string name;
  double reads = 0.0;
  double writes = 0.0;
  double flops = 0.0;
  bool reduces = false;  // rows to numbers that their elements wait for
  double width = 1.0;    // elements of a row that it reduces while the framework's norms reduce one
  bool strided = false;  // the place of each element is worked out
};

inline constexpr sim::Bytes usual_element{2.0};  // of bf16
inline constexpr std::int64_t usual_row = models::ElementwiseSpec{}.row;

models::ElementwiseSpec kernel_of(const ElementwiseOperator& named, std::int64_t elements, sim::Bytes element,
                                  std::int64_t row = usual_row);

// Where they are: in the first of these folders that has an operators.yaml.
std::optional<std::filesystem::path> operators_file(std::span<const std::filesystem::path> config_folders);
// Those of the first of these folders that has an operators.yaml; none if none has. Throws sim::ConfigError with all
// that is wrong in it.
std::vector<ElementwiseOperator> read_operators(std::span<const std::filesystem::path> config_folders);

// Null where there is none of that name.
const ElementwiseOperator* find_operator(std::span<const ElementwiseOperator> operators, std::string_view name);
// The same, which every operators.yaml must have. Throws sim::ConfigError where it has not.
const ElementwiseOperator& required_operator(std::span<const ElementwiseOperator> operators, std::string_view name);
// What to say then: the nearest name, or all of them.
std::string operator_hint(std::span<const ElementwiseOperator> operators, std::string_view name);

// "8192x28672" or "1000000"; 0 for anything else, and beyond 2^48.
std::int64_t parse_elements(std::string_view text);
// Elements of a row: the last factor of such a text, a usual row where it has but one.
std::int64_t row_of(std::string_view elements);
inline constexpr std::string_view elements_accepted =
    "a count of at most 2^48 or a product of counts is accepted, such as 8192x28672";

}  // namespace c3sim::study
