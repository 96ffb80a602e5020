#include "validate/cost.h"

#include <numeric>

#include "models/platform/interference.h"
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

// On a machine without any mechanism only the order of launches is left.
TEST(CostsByMechanism, AddUpToWhatGoesAwayWithoutAny) {
  std::vector<Case> cases = a_pair("mi300x");
  split_costs(cases, shipped_platform, 1);
  ASSERT_EQ(cases[0].cost_parts.size(), models::sharing_mechanisms.size());
  EXPECT_TRUE(cases[1].cost_parts.empty()) << "of a GEMM's time";
  const Platforms without_any = [](const Machine& machine) {
    study::Beside asked;
    for (const models::Mechanism mechanism : models::sharing_mechanisms) asked.without.add(mechanism);
    return study::beside(shipped_platform(machine), asked);
  };
  std::vector<Case> bare = cases;
  predict(bare, without_any, 1);
  const double with = *cases[0].predicted - cost_alone_of(cases[0])->predicted;
  const double without = *bare[0].predicted - cost_alone_of(bare[0])->predicted;
  const double parts = std::accumulate(cases[0].cost_parts.begin(), cases[0].cost_parts.end(), 0.0);
  EXPECT_GT(parts, 0.0);
  EXPECT_NEAR(parts, with - without, 1e-12);
  const Cost cost = costs_of(cases).front();
  EXPECT_EQ(cost.parts, cases[0].cost_parts) << "of one run";
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
