// Reads element-wise operators from configs/operators.yaml: what each reads, writes and computes.
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

// Numbers are per element of the result: elements read and written, vector operations.
struct ElementwiseOperator {
  std::string name;
  double reads = 0.0;
  double writes = 0.0;
  double flops = 0.0;
  bool reduces = false;  // it reduces rows to numbers that their elements wait for
  double width = 1.0;    // elements of a row that it reduces in the time of one in the framework's norms
  bool strided = false;  // it computes the address of each element
};

inline constexpr sim::Bytes usual_element{2.0};  // bf16
inline constexpr std::int64_t usual_row = models::ElementwiseSpec::usual_row;
inline constexpr double most_width = 64.0;

models::ElementwiseSpec kernel_of(const ElementwiseOperator& named, std::int64_t elements, sim::Bytes element,
                                  std::int64_t row = usual_row);

// Returns the first operators.yaml of these folders.
std::optional<std::filesystem::path> operators_file(std::span<const std::filesystem::path> config_folders);
// Reads the first operators.yaml of these folders; returns none if there is none. Throws sim::ConfigError with all that
// is wrong in the file.
std::vector<ElementwiseOperator> read_operators(std::span<const std::filesystem::path> config_folders);

// Returns null if no operator has this name.
const ElementwiseOperator* find_operator(std::span<const ElementwiseOperator> operators, std::string_view name);
// Returns an operator that every operators.yaml must have. Throws sim::ConfigError if it is missing.
const ElementwiseOperator& required_operator(std::span<const ElementwiseOperator> operators, std::string_view name);
// Returns the hint for an unknown name: the nearest name, or all names.
std::string operator_hint(std::span<const ElementwiseOperator> operators, std::string_view name);

// Parses "8192x28672" or "1000000"; returns 0 for anything else, and beyond 2^48.
std::int64_t parse_elements(std::string_view text);
// Returns the elements of a row: the last factor of such a text, or usual_row for a single number.
std::int64_t row_of(std::string_view elements);
inline constexpr std::string_view elements_accepted =
    "a count of at most 2^48 or a product of counts is accepted, such as 8192x28672";

}  // namespace c3sim::study
