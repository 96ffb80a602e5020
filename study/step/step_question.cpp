#include "study/step/step_question.h"

#include <array>

namespace c3sim::study {

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 3> names{"decode", "prefill", "train"};
  return names[static_cast<std::size_t>(phase)];
}

std::string_view to_string(Optimizer optimizer) {
  constexpr std::array<std::string_view, 3> names{"none", "adam", "lamb"};
  return names[static_cast<std::size_t>(optimizer)];
}

std::vector<Choice<Phase>> phase_choices() {
  return choices_of<Phase>(std::array{Phase::decode, Phase::prefill, Phase::train});
}
std::vector<Choice<Shard>> shard_choices() { return {{"none", Shard::none}, {"full", Shard::full}}; }
std::vector<Choice<Optimizer>> optimizer_choices() {
  return choices_of<Optimizer>(std::array{Optimizer::none, Optimizer::adam, Optimizer::lamb});
}

}  // namespace c3sim::study
