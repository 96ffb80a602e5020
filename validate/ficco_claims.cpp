#include <algorithm>

#include "sim/config/config.h"
#include "study/c3/finer_grain.h"
#include "study/experiment/experiment_reader.h"
#include "validate/claim.h"

namespace c3sim::validate {

namespace {

study::FinerGrainStudy read_ficco(const ClaimInputs& inputs, const study::Testbed& testbed) {
  sim::Config config = study::experiment_config(inputs.experiments / "ficco.yaml");
  study::set_parameters(config, {});
  study::read_machine(config);
  study::resolve_parameters(config, inputs.testbed.platform());
  study::FinerGrainStudy study = study::read_finer_grain_study(config.root(), testbed);
  config.finish();
  return study;
}

bool is_finer(const study::DependentSchedule& schedule) {
  return schedule.grain == study::DependentSchedule::Grain::finer;
}

}  // namespace

ClaimValues ficco_claims(const ClaimInputs& inputs) {
  study::Testbed& testbed = inputs.testbed;
  const study::FinerGrainStudy study = read_ficco(inputs, testbed);
  const std::vector<study::FinerGrainResult> results = study::run_finer_grain_study(testbed, study, false);
  double ideal = 0.0;
  double best = 0.0;
  for (const study::FinerGrainResult& result : results) {
    ideal = std::max(ideal, result.ideal_speedup());
    if (is_finer(result.schedule)) best = std::max(best, result.speedup());
  }
  const std::vector<study::NamedSchedule> named = study::name_by_nearest(results);
  const auto right = std::ranges::count_if(named, [](const auto& one) { return one.best == one.named; });
  ClaimValues values;
  values["ficco.ideal"] = {ideal};
  values["ficco.best"] = {best};
  values["ficco.heuristic"] = {static_cast<double>(right) / static_cast<double>(named.size())};
  return values;
}

}  // namespace c3sim::validate
