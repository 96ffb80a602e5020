#include "validate/cost.h"

#include "tests/testing.h"
#include "tests/text_file.h"
#include "tests/validate/libraries.h"
#include "validate/evaluation.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using ::testing::Optional;

// A GEMM of two waves runs beside an all-reduce; the measured values do not matter.
std::vector<Case> a_pair(const std::string& platform) {
  calibrate::Measurement measurement{.file = "t.csv", .line = 2};
  measurement.trial = study::C3Trial{{"", {4096, 4096, 4096}, models::CollectiveKind::all_reduce, sim::Bytes(0x1p26)},
                                     study::Strategy::c3_sp};
  measurement.seen = {{.figure = Figure::time, .value = 1e-3}, {.figure = Figure::gemm_time, .value = 4e-4}};
  measurement.alone = {.gemm = 3e-4, .collective = 5e-4};
  std::vector<Case> cases = cases_of(std::vector{measurement}, "s", platform, 0.1);
  predict(cases, shipped_platform, 1);
  return cases;
}

// On this platform probes tell that a workgroup of a collective starts 3 us late, where 0 us is assumed without them.
TEST(CostsWithoutProbes, AreThoseOfTheValuesBesideProbedOnes) {
  const std::string launch =
      "gpu:\n  memory: {l2: {wait: {value: 0 ns, source: t, kind: assumed, range: [0 ns, 1 ns]}}}\n"
      "  dispatch:\n    workgroup_launch: {value: 3 us, source: t, kind: probed, range: [0 us, 3 us]";
  const std::string head = "base: mi300x\nname: {value: probed, source: t, kind: measured}\n";
  std::vector<Case> cases = a_pair(written("probed_launch.yaml", head + launch + ", alternatives: [0 us]}\n").string());
  predict_unprobed(cases, shipped_platform, 1);
  const std::vector<Case> blind = a_pair(written("blind_launch.yaml", head + launch + "}\n").string());
  const auto cost_with = [&cases](const std::string& assignment) {
    std::vector<Case> assigned = cases;
    for (Case& one : assigned) one.machine.changes = {"gpu.dispatch.workgroup_launch=" + assignment};
    predict(assigned, shipped_platform, 1);
    return *assigned[0].predicted - cost_alone_of(assigned[0])->predicted;
  };
  EXPECT_EQ(cases[0].predicted, blind[0].predicted);
  EXPECT_THAT(cases[0].cost_unprobed, Optional(cost_with("0 us")));
  EXPECT_NE(cases[0].cost_unprobed, cost_with("3 us"));
  EXPECT_FALSE(cases[1].cost_unprobed) << "of a GEMM's time";
  EXPECT_TRUE(costs_of(cases).front().ratio_unprobed().has_value());
  // The user's assignment is applied last.
  const double tried = cost_with("1 us");
  for (Case& one : cases) one.machine.changes = {"gpu.dispatch.workgroup_launch=1 us"};
  predict_unprobed(cases, shipped_platform, 1);
  EXPECT_THAT(cases[0].cost_unprobed, Optional(tried));
}

}  // namespace
}  // namespace c3sim::validate
