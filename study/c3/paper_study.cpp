#include "study/c3/paper_study.h"

#include <fmt/format.h>

#include "study/c3/c3_study_results.h"
#include "study/c3/finer_grain.h"
#include "study/c3/sublayer_study.h"

namespace c3sim::study {

namespace {

PaperStudy of_c3(const C3Study& study) {
  const std::vector<Strategy> vary = strategies_that_vary(study.strategies);
  return {fmt::format("{}: {} pairs with {} collectives by {} strategies", study.name, study.pairs.size(),
                      study.collectives.size(), study.strategies.size()),
          [study](Testbed& testbed, bool, const Progress& progress, int jobs) {
            return study_results(study, run_study(testbed, study, progress, jobs), testbed.platform().name);
          },
          vary, question_of(study, vary)};
}

PaperStudy of_finer_grain(const FinerGrainStudy& study) {
  return {fmt::format("{}: {} GEMMs by {} schedules", study.name, study.gemms.size(), study.schedules.size() + 1),
          [study](Testbed& testbed, bool losses, const Progress& progress, int jobs) {
            return finer_grain_results(study, run_finer_grain_study(testbed, study, losses, progress, jobs),
                                       testbed.platform().name);
          }};
}

PaperStudy of_sublayers(const SublayerStudy& study) {
  return {
      fmt::format("{}: {} sub-layers by {} schedules", study.name, study.sublayers.size(), study.strategies.size() + 1),
      [study](Testbed& testbed, bool, const Progress& progress, int jobs) {
        return sublayer_results(study, run_sublayer_study(testbed.platform(), study, progress, jobs),
                                testbed.platform().name);
      }};
}

}  // namespace

bool holds_paper_study(sim::Section root) {
  return root.has("pairs") || root.has("schedules") || root.has("sublayers");
}

PaperStudy read_paper_study(sim::Section root, const Testbed& testbed) {
  if (root.has("pairs")) return of_c3(read_c3_study(root, testbed));
  if (root.has("schedules")) return of_finer_grain(read_finer_grain_study(root, testbed));
  return of_sublayers(read_sublayer_study(root, testbed));
}

}  // namespace c3sim::study
