#include "study/step/step_question.h"

#include <algorithm>
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

std::string_view to_string(Half half) {
  constexpr std::array<std::string_view, 4> names{"both", "attention", "feed_forward", "experts"};
  return names[static_cast<std::size_t>(half)];
}

std::vector<Choice<Carrier>> carrier_choices() {
  std::vector<Choice<Carrier>> choices;
  for (const models::BackendAbilities& backend : models::backends())
    choices.emplace_back(backend.name, backend.backend);
  choices.emplace_back("auto", std::nullopt);
  return choices;
}

models::Backend StepQuestion::carrier_of(models::CollectiveKind kind) const {
  if (const auto one = chosen.find(kind); one != chosen.end()) return one->second;
  const models::Backend wanted = collectives.value_or(models::Backend::rccl);
  // Engines of today do not add: what only adds up stays with kernels.
  const bool adds = wanted == models::Backend::sdma && kind == models::CollectiveKind::reduce_scatter;
  const bool able = std::ranges::count(models::abilities_of(wanted).kinds, kind) > 0;
  return able && !adds ? wanted : models::Backend::rccl;
}

}  // namespace c3sim::study
