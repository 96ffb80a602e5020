// The claims of ConCCL beside the study: each lies in the band of validate/reference/claims.csv, or is a numbered
// deviation of docs/deviations.md that is still there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "study/c3_study.h"
#include "study/c3_study_tables.h"
#include "tests/study/claims.h"
#include "tests/study/test_platform.h"

namespace study {
namespace {

using models::CollectiveKind;

// What the study says of each claim; a claim about the three classes has a value for the lowest and for the highest.
std::map<std::string, std::vector<double>> predicted() {
  Testbed testbed(mi300x().spec);
  const C3Study study = conccl_study(testbed);
  const std::vector<StudyResult> results = run_study(testbed, study);

  const auto of = [&](Strategy strategy) { return average(results, {strategy, {}, {}}); };
  const auto with = [&](Strategy strategy, CollectiveKind kind) { return average(results, {strategy, kind, {}}); };
  const auto over_classes = [&](Strategy strategy, CollectiveKind kind) {
    std::vector<double> fractions;
    for (const LengthClass length_class : all_length_classes()) {
      fractions.push_back(average(results, {strategy, kind, length_class}).fraction_of_ideal);
    }
    return std::vector{*std::ranges::min_element(fractions), *std::ranges::max_element(fractions)};
  };
  double highest_ideal = 0.0;
  for (const StudyResult& result : results) highest_ideal = std::max(highest_ideal, result.c3.ideal_speedup());

  double right = 0.0;  // of both collectives
  double loss = 0.0;
  const ResultTable of_heuristic = heuristic_table(study, results);
  for (const std::vector<Cell>& row : of_heuristic.rows()) {
    right += static_cast<double>(std::get<std::int64_t>(row[2]));
    loss = std::max(loss, std::get<double>(row[3]) / 100.0);
  }

  using enum Strategy;
  return {{"conccl.ideal.mean", {of(conccl).ideal_speedup}},
          {"conccl.ideal.max", {highest_ideal}},
          {"conccl.c3_base.fraction", {of(c3_base).fraction_of_ideal}},
          {"conccl.c3_base.fraction.all_gather", over_classes(c3_base, CollectiveKind::all_gather)},
          {"conccl.c3_base.fraction.all_to_all", over_classes(c3_base, CollectiveKind::all_to_all)},
          {"conccl.c3_base.speedup.all_to_all", {with(c3_base, CollectiveKind::all_to_all).speedup}},
          {"conccl.c3_sp.fraction", {of(c3_sp).fraction_of_ideal}},
          {"conccl.c3_sp.fraction.all_gather", over_classes(c3_sp, CollectiveKind::all_gather)},
          {"conccl.c3_sp.fraction.all_to_all", over_classes(c3_sp, CollectiveKind::all_to_all)},
          {"conccl.c3_rp.fraction", {of(c3_rp).fraction_of_ideal}},
          {"conccl.c3_sp_rp.gain", {of(c3_sp_rp).fraction_of_ideal - of(c3_sp).fraction_of_ideal}},
          {"conccl.c3_best.fraction", {of(c3_best).fraction_of_ideal}},
          {"conccl.conccl.fraction", {of(conccl).fraction_of_ideal}},
          {"conccl.conccl_rp.fraction", {of(conccl_rp).fraction_of_ideal}},
          {"conccl.conccl_rp.max_speedup", {of(conccl_rp).highest_speedup}},
          {"conccl.conccl.speedup.all_to_all", {with(conccl, CollectiveKind::all_to_all).speedup}},
          {"conccl.heuristic.right", {right}},
          {"conccl.heuristic.loss", {loss}}};
}

// By claim, the number of the deviation under which docs/deviations.md speaks of it.
const std::map<std::string, int> deviations{
    {"conccl.ideal.mean", 1},
    {"conccl.c3_base.fraction.all_gather", 2},
    {"conccl.heuristic.right", 6},
    {"conccl.heuristic.loss", 6},
};

TEST(FullConcclClaims, HoldButForTheNumberedDeviations) {
  const std::map<std::string, Band> bands = claimed_bands("conccl", "predict");
  for (const auto& [claim, values] : predicted()) {
    const Band band = bands.at(claim);
    const bool holds = std::ranges::all_of(values, [&](double value) { return band.contains(value); });
    const std::string figures = fmt::format("{}: predicted {:.3f} to {:.3f}, claimed {} to {}", claim, values.front(),
                                            values.back(), band.low, band.high);
    const auto known = deviations.find(claim);
    if (known == deviations.end()) {
      EXPECT_TRUE(holds) << figures;
    } else {
      EXPECT_FALSE(holds) << figures << ": deviation " << known->second
                          << " is closed, take it out of docs/deviations.md";
    }
  }
}

}  // namespace
}  // namespace study
