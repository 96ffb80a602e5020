#include "study/step/step_fidelity.h"

#include <algorithm>

#include "sim/overloaded.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

// Of kernels or launches that no row of fitted_to is about, by the parameters of their own.
Fidelity by_parameters(const Platform& platform, std::string_view of) {
  const bool is_measured = std::ranges::any_of(platform.parameters, [of](const sim::Parameter& parameter) {
    return parameter.path.starts_with(of) && (parameter.kind == "measured" || parameter.kind == "fitted");
  });
  return is_measured ? Fidelity::extrapolated : Fidelity::assumed;
}

}  // namespace

Fidelity fidelity_of(const StepQuestion& question, const Platform& platform,
                     std::span<const ElementwiseOperator> operators) {
  Fidelity weakest = Fidelity::extrapolated;
  if (!question.graph) weakest = weaker(weakest, by_parameters(platform, "host.framework_call"));
  const auto of_work = sim::Overloaded{
      [&](const models::GemmShape& shape) { return fidelity_of(shape, platform.spec.gpu.cus(), platform.spec); },
      [&](const models::CollectiveSpec& collective) { return fidelity_of(collective, platform.spec); },
      [&](const models::SdmaCopySpec& copy) { return fidelity_of(copy, platform.spec); },
      [&](const models::AttentionShape&) { return by_parameters(platform, "gpu.attention."); },
      [&](const models::FusedSpec&) { return Fidelity::assumed; },  // no machine of today has them
      [&](const auto&) { return by_parameters(platform, "gpu.streams."); }};
  for (const StepBlock& block : step_blocks(question, operators, 1, platform.spec)) {
    for (const StepOperation& one : block.operations) weakest = weaker(weakest, std::visit(of_work, one.work));
  }
  return weakest;
}

}  // namespace c3sim::study
