#include "study/c3/paper_study.h"

#include <fmt/format.h>

#include "study/c3/c3_study.h"
#include "study/c3/finer_grain.h"
#include "study/c3/sublayer_study.h"

namespace c3sim::study {

bool holds_paper_study(sim::Section root) {
  return root.has("pairs") || root.has("schedules") || root.has("sublayers");
}

PaperStudy read_paper_study(sim::Section root, const Testbed& testbed) {
  const std::string platform = testbed.platform().name;
  if (root.has("pairs")) {
    const C3Study study = read_c3_study(root, testbed);
    const std::vector<Strategy> vary = strategies_that_vary(study.strategies);
    return {fmt::format("{}: {} pairs with {} collectives by {} strategies", study.name, study.pairs.size(),
                        study.collectives.size(), study.strategies.size()),
            [=](Testbed& asked, bool, const Progress& progress, int jobs) {
              return study_results(study, run_study(asked, study, progress, jobs), platform);
            },
            vary, question_of(study, vary)};
  }
  if (root.has("schedules")) {
    const FinerGrainStudy study = read_finer_grain_study(root, testbed);
    return {fmt::format("{}: {} GEMMs by {} schedules", study.name, study.gemms.size(), study.schedules.size() + 1),
            [=](Testbed& asked, bool losses, const Progress& progress, int jobs) {
              return finer_grain_results(study, run_finer_grain_study(asked, study, losses, progress, jobs), platform);
            }};
  }
  const SublayerStudy study = read_sublayer_study(root, testbed);
  return {
      fmt::format("{}: {} sub-layers by {} schedules", study.name, study.sublayers.size(), study.strategies.size() + 1),
      [=](Testbed& asked, bool, const Progress& progress, int jobs) {
        return sublayer_results(study, run_sublayer_study(asked.platform(), study, progress, jobs), platform);
      }};
}

}  // namespace c3sim::study
