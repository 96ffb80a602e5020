#include "study/step/step_question.h"

#include <array>

namespace c3sim::study {

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 3> names{"decode", "prefill", "train"};
  return names[static_cast<std::size_t>(phase)];
}

std::string_view to_string(Shard shard) { return shard == Shard::none ? "none" : "full"; }

std::string_view to_string(Optimizer optimizer) {
  constexpr std::array<std::string_view, 3> names{"none", "adam", "lamb"};
  return names[static_cast<std::size_t>(optimizer)];
}

}  // namespace c3sim::study
