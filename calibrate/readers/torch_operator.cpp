#include "calibrate/readers/torch_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/rccl_test.h"
#include "study/work/operation.h"

namespace c3sim::calibrate {

namespace {

std::vector<std::string_view> all_of(const JsonRecord& event, std::string_view key) {
  std::vector<std::string_view> texts;
  for (const JsonValue& value : event.values) {
    if (value.key == key) texts.emplace_back(value.text);
  }
  return texts;
}

std::optional<std::int64_t> count_of(const JsonRecord& event, std::string_view key) {
  const JsonValue* const value = event.find(key);
  if (value == nullptr) return {};
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(value->text);
  if (!parsed.error.empty() || parsed.value < 0) return {};
  return parsed.value;
}

// Operators whose last operands with dimensions are two matrices, each perhaps behind the size of a batch.
struct ProductOperator {
  std::string_view name;
  std::size_t dimensions;  // of each matrix
};
constexpr std::array products{ProductOperator{"aten::mm", 2}, ProductOperator{"aten::addmm", 2},
                              ProductOperator{"aten::bmm", 3}, ProductOperator{"aten::baddbmm", 3},
                              ProductOperator{"aten::_scaled_mm", 2}};

// c10/core/ScalarType.h, as torch/csrc/distributed spells them.
constexpr std::array<std::pair<std::string_view, int>, 14> bytes_of_types{{{"BFloat16", 2},
                                                                           {"Half", 2},
                                                                           {"Float", 4},
                                                                           {"Double", 8},
                                                                           {"Byte", 1},
                                                                           {"Char", 1},
                                                                           {"Short", 2},
                                                                           {"Int", 4},
                                                                           {"Long", 8},
                                                                           {"Bool", 1},
                                                                           {"Float8_e4m3fn", 1},
                                                                           {"Float8_e4m3fnuz", 1},
                                                                           {"Float8_e5m2", 1},
                                                                           {"Float8_e5m2fnuz", 1}}};

TorchWork no_trial(std::string why) { return {{}, std::move(why)}; }

// "_allgather_base" is the operation "allgather" on one buffer.
std::string operation_of(std::string_view name) {
  std::string plain = plain_name(name);
  constexpr std::string_view suffix = "base";
  if (plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  return plain;
}

}  // namespace

// Rows of PyTorch are columns of BLAS: (M x K) (K x N) is asked for as the product of size N x M x K.
std::optional<TorchWork> matrix_product_of(const JsonRecord& event) {
  const JsonValue* const name = event.find("name");
  if (name == nullptr) return {};
  const auto* const product = std::ranges::find(products, name->text, &ProductOperator::name);
  if (product == products.end()) return {};
  const std::vector<std::string_view> dims = all_of(event, "args.inputdims");
  const std::vector<std::string_view> types = all_of(event, "args.inputtype");
  const std::size_t needed = 2 * product->dimensions;
  if (dims.size() < needed || types.empty()) {
    return no_trial(fmt::format("{} without the shapes of its operands: record_shapes=True of the profiler is accepted",
                                product->name));
  }
  for (const std::string_view type : types) {
    if (type.empty() || type == "Scalar" || type == "c10::BFloat16") continue;
    return no_trial(fmt::format("{} of {}: GEMMs of bf16 have a model", product->name, printable(type)));
  }
  std::vector<int> sizes;
  for (const std::string_view dim : std::vector(dims.end() - static_cast<std::ptrdiff_t>(needed), dims.end())) {
    constexpr std::int64_t longest_side = 1 << 24;
    const sim::Parsed<std::int64_t> parsed = parse_printed_integer(dim);
    if (!parsed.error.empty() || parsed.value < 1 || parsed.value > longest_side) {
      return no_trial(fmt::format("{} of a side of {}", product->name, printable(dim)));
    }
    sizes.push_back(static_cast<int>(parsed.value));
  }
  const bool is_batched = product->dimensions == 3;
  if (is_batched && (sizes[0] != 1 || sizes[3] != 1)) return no_trial("batched");
  const std::size_t left = is_batched ? 1 : 0;
  const std::size_t right = left + product->dimensions;
  if (sizes[left + 1] != sizes[right]) return no_trial(fmt::format("{} of sides that do not fit", product->name));
  return TorchWork{study::GemmTrial{{sizes[right + 1], sizes[left], sizes[right]}}, {}};
}

// The array of one GPU is the larger of what goes in and what comes out, as rccl-tests has it (rccl_test.h).
std::optional<TorchWork> collective_of(const JsonRecord& event) {
  const JsonValue* const name = event.find("args.collectivename");
  if (name == nullptr) return {};
  const TestedCollective* const collective = collective_called(operation_of(name->text));
  if (collective == nullptr || !collective->kind) return no_trial(printable(name->text) + " has no model");
  const auto in = count_of(event, "args.inmsgnelems");
  const auto out = count_of(event, "args.outmsgnelems");
  const auto ranks = count_of(event, "args.groupsize");
  const JsonValue* const type = event.find("args.dtype");
  if (!in || !out || !ranks || type == nullptr) {
    return no_trial(
        fmt::format("{} without its size: 'In msg nelems', 'Out msg nelems', 'dtype' and 'Group size' are "
                    "accepted",
                    printable(name->text)));
  }
  const auto* const bytes = std::ranges::find(bytes_of_types, type->text, &std::pair<std::string_view, int>::first);
  if (bytes == bytes_of_types.end()) return no_trial(printable(type->text) + " is no known type");
  if (*ranks < 2 || *ranks > most_units) return no_trial(fmt::format("a group of {}", *ranks));
  const sim::Bytes size(static_cast<double>(std::max(*in, *out)) * bytes->second);
  if (size.value() < 1.0 || size > study::largest_array) return no_trial("nothing, or too much, is moved");
  models::CollectiveSpec spec;
  spec.kind = *collective->kind;
  spec.bytes = size;
  spec.gpus = static_cast<int>(*ranks);
  return TorchWork{study::CollectiveTrial{spec}, {}};
}

}  // namespace c3sim::calibrate
