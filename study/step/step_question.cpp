#include "study/step/step_question.h"

#include <algorithm>

namespace c3sim::study {

std::string_view to_string(const Carrier& carrier) {
  if (carrier.fuses) return "t3";
  return carrier.backend ? models::to_string(*carrier.backend) : "auto";
}

std::vector<sim::Choice<Carrier>> backend_carriers() {
  std::vector<sim::Choice<Carrier>> choices;
  for (const auto& [name, backend] : sim::choices_of<models::Backend>()) choices.emplace_back(name, backend);
  return choices;
}

std::vector<sim::Choice<Carrier>> all_choices(Carrier) {
  std::vector<sim::Choice<Carrier>> choices = backend_carriers();
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
