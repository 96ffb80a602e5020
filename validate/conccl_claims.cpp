#include <algorithm>

#include "sim/config/config.h"
#include "study/c3/c3_study.h"
#include "study/c3/c3_study_file.h"
#include "study/c3/c3_study_tables.h"
#include "study/work/cu_partition.h"
#include "validate/claim.h"

namespace c3sim::validate {

namespace {

using models::CollectiveKind;
using sim::operator""_MiB;
using study::Strategy;
using study::StudyResult;

models::CollectiveSpec collective(const study::Testbed& testbed, CollectiveKind kind, sim::Bytes bytes,
                                  models::Backend backend = models::Backend::rccl) {
  models::CollectiveSpec spec;
  spec.kind = kind;
  spec.backend = backend;
  spec.bytes = bytes;
  spec.gpus = testbed.platform().gpus;
  return spec;
}

double seconds(study::Testbed& testbed, const study::Work& work, models::CuMask mask = {}) {
  return sim::to_seconds(testbed.alone(work, mask)).value();
}

study::C3Study read_conccl(const ClaimInputs& inputs, const study::Testbed& testbed) {
  sim::Config config = sim::Config::from_file(inputs.experiments / "conccl.yaml");
  sim::Section root = config.root();
  root.text("platform");
  study::C3Study study = study::read_c3_study(root, testbed);
  config.finish();
  return study;
}

// The lowest and the highest fraction of the three classes.
std::vector<double> over_classes(std::span<const StudyResult> results, Strategy strategy, CollectiveKind kind) {
  std::vector<double> fractions;
  for (const study::LengthClass length_class : study::all_length_classes()) {
    fractions.push_back(study::average(results, {strategy, kind, length_class}).fraction_of_ideal);
  }
  return {*std::ranges::min_element(fractions), *std::ranges::max_element(fractions)};
}

void add_concurrent(ClaimValues& values, std::span<const StudyResult> results) {
  using enum Strategy;
  const auto of = [&](Strategy strategy) { return study::average(results, {strategy, {}, {}}); };
  const auto with = [&](Strategy strategy, CollectiveKind kind) {
    return study::average(results, {strategy, kind, {}});
  };
  double highest_ideal = 0.0;
  for (const StudyResult& result : results) highest_ideal = std::max(highest_ideal, result.c3.ideal_speedup());
  values["conccl.ideal.mean"] = {of(conccl).ideal_speedup};
  values["conccl.ideal.max"] = {highest_ideal};
  values["conccl.c3_base.fraction"] = {of(c3_base).fraction_of_ideal};
  values["conccl.c3_base.fraction.all_gather"] = over_classes(results, c3_base, CollectiveKind::all_gather);
  values["conccl.c3_base.fraction.all_to_all"] = over_classes(results, c3_base, CollectiveKind::all_to_all);
  values["conccl.c3_base.speedup.all_to_all"] = {with(c3_base, CollectiveKind::all_to_all).speedup};
  values["conccl.c3_sp.fraction"] = {of(c3_sp).fraction_of_ideal};
  values["conccl.c3_sp.fraction.all_gather"] = over_classes(results, c3_sp, CollectiveKind::all_gather);
  values["conccl.c3_sp.fraction.all_to_all"] = over_classes(results, c3_sp, CollectiveKind::all_to_all);
  values["conccl.c3_rp.fraction"] = {of(c3_rp).fraction_of_ideal};
  values["conccl.c3_sp_rp.gain"] = {of(c3_sp_rp).fraction_of_ideal - of(c3_sp).fraction_of_ideal};
  values["conccl.c3_best.fraction"] = {of(c3_best).fraction_of_ideal};
  values["conccl.conccl.fraction"] = {of(Strategy::conccl).fraction_of_ideal};
  values["conccl.conccl_rp.fraction"] = {of(conccl_rp).fraction_of_ideal};
  values["conccl.conccl_rp.max_speedup"] = {of(conccl_rp).highest_speedup};
  values["conccl.conccl.speedup.all_to_all"] = {with(Strategy::conccl, CollectiveKind::all_to_all).speedup};
}

void add_heuristic(ClaimValues& values, const study::C3Study& study, std::span<const StudyResult> results) {
  double right = 0.0;
  double loss = 0.0;
  const study::ResultTable of_heuristic = study::heuristic_table(study, results);
  for (const std::vector<study::Cell>& row : of_heuristic.rows()) {
    right += static_cast<double>(std::get<std::int64_t>(row[2]));
    loss = std::max(loss, std::get<double>(row[3]) / 100.0);
  }
  values["conccl.heuristic.right"] = {right};
  values["conccl.heuristic.loss"] = {loss};
}

// The smallest power-of-two number of CUs of which twice as many gain less than 3 %.
double enough_cus(study::Testbed& testbed, CollectiveKind kind) {
  const auto time = [&](int cus) {
    return seconds(testbed, collective(testbed, kind, 1024_MiB), study::first_cus(testbed.platform(), cus));
  };
  int cus = testbed.platform().gpu.memory.xcds;
  while (cus < 128 && time(cus) / time(2 * cus) >= 1.03) cus *= 2;
  return cus;
}

// Of a GEMM that loses so many CUs: its time over that with all of them.
double stretch(study::Testbed& testbed, const models::GemmShape& gemm, int lost) {
  return seconds(testbed, gemm, study::reserve(testbed.platform(), lost).gemm) / seconds(testbed, gemm);
}

void add_isolated(ClaimValues& values, study::Testbed& testbed, const study::C3Study& study) {
  values["conccl.cu_saturation.all_gather"] = {enough_cus(testbed, CollectiveKind::all_gather)};
  values["conccl.cu_saturation.all_to_all"] = {enough_cus(testbed, CollectiveKind::all_to_all)};
  for (const int lost : {32, 64}) {
    double largest = 0.0;
    for (const study::StudyPair& pair : study.pairs) {
      if (pair.name.starts_with("cb")) largest = std::max(largest, stretch(testbed, pair.gemm, lost) - 1.0);
    }
    values["conccl.cb_slowdown." + std::to_string(lost)] = {largest};
  }
  double right = 0.0;
  for (const study::StudyPair& pair : study.pairs) {
    const sim::Time gather = testbed.alone(collective(testbed, CollectiveKind::all_gather, pair.bytes));
    if (study::classify(testbed.alone(pair.gemm), gather, study.longer_by) == pair.length_class) right += 1.0;
  }
  values["conccl.classes"] = {right};
  const models::GemmShape mb1{8192, 57344, 8192};
  values["conccl.mb_gain.8"] = {1.0 / stretch(testbed, mb1, 8)};
}

// Copy engines with parallel copies against RCCL, 1 KiB to 1 GiB. The host drives all engines with one thread, as the
// platform has it.
void add_copies_against_kernels(ClaimValues& values, study::Testbed& testbed) {
  const auto ratio = [&](CollectiveKind kind, sim::Bytes bytes) {  // kernels over copies
    return seconds(testbed, collective(testbed, kind, bytes)) /
           seconds(testbed, collective(testbed, kind, bytes, models::Backend::sdma));
  };
  double slowest = 0.0;
  for (sim::Bytes bytes(1024.0); bytes <= 16_MiB; bytes *= 2.0) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
      slowest = std::max(slowest, 1.0 / ratio(kind, bytes));
    }
  }
  values["conccl.dma_vs_rccl.small"] = {slowest};
  values["conccl.dma_vs_rccl.large"] = {ratio(CollectiveKind::all_gather, 1024_MiB)};
  sim::Bytes crossover = 1024_MiB;
  while (crossover > 1_MiB && ratio(CollectiveKind::all_gather, crossover / 2.0) >= 0.95) crossover *= 0.5;
  values["conccl.dma_vs_rccl.crossover"] = {crossover / 1_MiB};
}

}  // namespace

ClaimValues conccl_claims(const ClaimInputs& inputs) {
  study::Testbed& testbed = inputs.testbed;
  const study::C3Study study = read_conccl(inputs, testbed);
  const std::vector<StudyResult> results = study::run_study(testbed, study);
  ClaimValues values;
  add_concurrent(values, results);
  add_heuristic(values, study, results);
  add_isolated(values, testbed, study);
  add_copies_against_kernels(values, testbed);
  return values;
}

}  // namespace c3sim::validate
