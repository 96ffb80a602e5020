#include "sim/config/config.h"
#include "study/c3/sublayer_study.h"
#include "study/experiment/experiment_reader.h"
#include "validate/claim.h"

namespace c3sim::validate {

ClaimValues t3_claims(const ClaimInputs& inputs) {
  sim::Config config = study::experiment_config(inputs.experiments / "t3.yaml");
  study::set_parameters(config, {});
  study::read_machine(config);
  const models::PlatformSpec& platform = inputs.testbed.platform();
  study::resolve_parameters(config, platform);
  const study::SublayerStudy study = study::read_sublayer_study(config.root(), inputs.testbed);
  config.finish();
  const auto metrics = study::sublayer_metrics(study, study::run_sublayer_study(platform, study));
  ClaimValues values;
  for (const auto& [claim, metric] : {std::pair{"t3.mca.geomean", "mca_geomean"},
                                      {"t3.mca.max", "mca_max"},
                                      {"t3.plain.geomean", "plain_geomean"},
                                      {"t3.plain.max", "plain_max"},
                                      {"t3.ideal.geomean", "ideal_geomean"},
                                      {"t3.ideal.max", "ideal_max"},
                                      {"t3.data_movement.geomean", "data_movement_geomean"},
                                      {"t3.data_movement.max", "data_movement_max"},
                                      {"t3.large.geomean", "large_geomean"},
                                      {"t3.large.max", "large_max"},
                                      {"t3.near_memory.rs.tp8", "near_memory_rs_tp8"},
                                      {"t3.near_memory.rs.tp16", "near_memory_rs_tp16"}}) {
    if (const auto found = metrics.find(metric); found != metrics.end()) values[claim] = found->second;
  }
  return values;
}

}  // namespace c3sim::validate
