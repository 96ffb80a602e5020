#include "study/step/step_operation.h"

#include <array>

namespace c3sim::study {

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, kinds> names{
      "gemm",    "attention",  "norm",       "elementwise",    "optimizer",  "embedding", "copy",
      "softmax", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send"};
  return names[static_cast<std::size_t>(kind)];
}

std::optional<models::CollectiveKind> collective_of(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return models::CollectiveKind::all_reduce;
    case Kind::all_gather:
      return models::CollectiveKind::all_gather;
    case Kind::reduce_scatter:
      return models::CollectiveKind::reduce_scatter;
    case Kind::all_to_all:
      return models::CollectiveKind::all_to_all;
    default:
      return {};
  }
}

}  // namespace c3sim::study
