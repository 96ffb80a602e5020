#include "study/step/step_operation.h"

#include <array>

namespace c3sim::study {

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, kinds> names{"gemm",       "attention",  "norm",           "elementwise",
                                                      "optimizer",  "embedding",  "copy",           "softmax",
                                                      "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace c3sim::study
