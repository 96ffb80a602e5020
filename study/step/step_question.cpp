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

std::string_view to_string(const Carrier& carrier) {
  if (carrier.fuses) return "t3";
  return carrier.backend ? models::to_string(*carrier.backend) : "auto";
}

std::vector<Choice<Carrier>> backend_carriers() {
  std::vector<Choice<Carrier>> choices;
  for (const models::BackendAbilities& one : models::backends()) choices.emplace_back(one.name, one.backend);
  return choices;
}

std::vector<Choice<Carrier>> carrier_choices() {
  std::vector<Choice<Carrier>> choices = backend_carriers();
  for (const Carrier& other : {Carrier(models::Backend::sdma, true), Carrier(std::nullopt)}) {
    choices.emplace_back(to_string(other), other);
  }
  return choices;
}

models::Backend StepQuestion::carrier_of(models::CollectiveKind kind) const {
  if (const auto one = chosen.find(kind); one != chosen.end()) return one->second;
  const models::Backend wanted = collectives.backend.value_or(models::Backend::rccl);
  // Engines of today do not add: what only adds up stays with kernels.
  const bool adds = wanted == models::Backend::sdma && kind == models::CollectiveKind::reduce_scatter;
  const bool able = std::ranges::count(models::abilities_of(wanted).kinds, kind) > 0;
  return able && !adds ? wanted : models::Backend::rccl;
}

}  // namespace c3sim::study
