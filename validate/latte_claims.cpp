#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/config/config.h"
#include "study/ask/serve_study.h"
#include "study/ask/trial.h"
#include "study/serve/serve.h"
#include "validate/choice.h"
#include "validate/claim.h"
#include "validate/metrics.h"

namespace c3sim::validate {

namespace {

using models::CollectiveKind;

constexpr double mib = 1048576.0;

// Seconds of a collective by size, 1 KiB to 1 GiB: by kernels, by parallel copies, and by the fastest variant on
// engines, prelaunched or not.
struct Curve {
  std::map<double, double> kernels, copies, best;
};

Curve curve(study::Testbed& testbed, CollectiveKind kind) {
  const models::SdmaVariant second =
      kind == CollectiveKind::all_gather ? models::SdmaVariant::bcst : models::SdmaVariant::swap;
  const auto seconds = [&](const models::CollectiveSpec& spec) { return sim::to_seconds(testbed.alone(spec)).value(); };
  Curve result;
  for (double bytes = 1024.0; bytes <= 1024.0 * mib; bytes *= 2.0) {
    models::CollectiveSpec spec;
    spec.kind = kind;
    spec.bytes = sim::Bytes(bytes);
    spec.gpus = testbed.platform().gpus;
    result.kernels[bytes] = seconds(spec);
    spec.backend = models::Backend::sdma;
    result.copies[bytes] = result.best[bytes] = seconds(spec);
    for (const models::SdmaVariant variant : {models::SdmaVariant::pcpy, second, models::SdmaVariant::b2b}) {
      for (const bool prelaunch : {false, true}) {
        spec.variant = variant;
        spec.prelaunch = prelaunch;
        result.best[bytes] = std::min(result.best[bytes], seconds(spec));
      }
    }
  }
  return result;
}

// Over the sizes up to `largest`, the ratios of two curves.
std::vector<double> ratios(const std::map<double, double>& over, const std::map<double, double>& under,
                           double largest) {
  std::vector<double> result;
  for (const auto& [bytes, time] : over) {
    if (bytes <= largest) result.push_back(time / under.at(bytes));
  }
  return result;
}

double geometric_mean(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return std::exp(mean(values));
}

void add_times(ClaimValues& values, study::Testbed& testbed) {
  const Curve gather = curve(testbed, CollectiveKind::all_gather);
  const Curve exchange = curve(testbed, CollectiveKind::all_to_all);
  values["latte.all_gather.small_baseline"] = {std::ranges::max(ratios(gather.copies, gather.kernels, 16.0 * mib))};
  values["latte.all_to_all.small_baseline"] = {std::ranges::max(ratios(exchange.copies, exchange.kernels, 16.0 * mib))};
  values["latte.all_gather.optimised"] = {mean(ratios(gather.best, gather.kernels, mib))};
  values["latte.all_to_all.optimised"] = {mean(ratios(exchange.kernels, exchange.best, mib))};
  std::vector<double> gains = ratios(gather.copies, gather.best, 32.0 * mib);
  for (const double gain : ratios(exchange.copies, exchange.best, 32.0 * mib)) gains.push_back(gain);
  values["latte.features.max"] = {std::ranges::max(gains)};
  values["latte.features.geomean"] = {geometric_mean(gains)};
}

// Board power of collectives by parallel copies against those by kernels, over both collectives from 64 MiB to 4 GiB.
double power_saved(study::Testbed& testbed) {
  std::vector<double> saved;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    for (double bytes = 64.0 * mib; bytes <= 4096.0 * mib; bytes *= 4.0) {
      const auto power = [&](models::Backend backend) {
        study::CollectiveTrial trial;
        trial.spec.kind = kind;
        trial.spec.backend = backend;
        trial.spec.bytes = sim::Bytes(bytes);
        trial.spec.gpus = 0;
        return study::observe(testbed, trial, {study::Figure::power}).at(study::Figure::power);
      };
      saved.push_back(1.0 - power(models::Backend::sdma) / power(models::Backend::rccl));
    }
  }
  return mean(saved);
}

// The published table's outlier: 1.58 for prelaunched b2b at 512 KiB lies between 3.58 and 1.84, below b2b itself. The
// claim leaves it out.
bool is_outlier(const Case& one) { return one.decision == "524288" && one.alternative == "b2b_PL"; }

void add_tables(ClaimValues& values, std::span<const Case> cases) {
  std::vector<const Case*> phases;
  std::vector<const Case*> variants;
  std::vector<Case> decisions;
  for (const Case& one : cases) {
    if (!one.predicted) continue;
    if (one.form().error == study::ErrorKind::points) phases.push_back(&one);
    if (one.figure != study::Figure::over_parallel_copies) continue;
    if (!is_outlier(one)) variants.push_back(&one);
    decisions.push_back(one);
  }
  if (!phases.empty()) values["latte.p2p_phases"] = {100.0 * metrics_of(phases).worst};
  if (!variants.empty()) values["latte.all_gather.variants"] = {metrics_of(variants).median};
  const std::vector<Choices> choices = choices_of(decisions);
  if (!choices.empty()) {
    values["latte.all_gather.best"] = {static_cast<double>(choices.front().predicted.right)};
  }
}

// The paper names neither models nor sizes: over the shipped map, what
// engines that fetch them back to back gain at their best over a call for each block.
void add_inference(ClaimValues& values, const ClaimInputs& inputs) {
  const std::filesystem::path file = inputs.experiments.parent_path() / "serve" / "latte_llm.yaml";
  sim::Config config = sim::Config::from_file(file);
  study::Arguments no_command_line;
  const study::Given nothing;
  const study::ServeStudy map(config.root(), nothing, file, no_command_line);
  config.check();
  study::ServeMachine machine(inputs.testbed.platform());
  const std::size_t points = map.size() / map.axes().front().alternatives.size();
  const auto case_of = [&](study::Fetch fetch) {
    std::size_t first = 0;
    while (first < map.size() && map.question(first).fetch != fetch) first += points;
    return first;
  };
  const std::size_t each = case_of(study::Fetch::each);
  const std::size_t engines = case_of(study::Fetch::back_to_back);
  double latency = 0.0;
  double throughput = 0.0;
  for (std::size_t point = 0; point < points; ++point) {
    const study::Served loop = machine.ask(map.question(each + point), 0).served;
    const study::Served packed = machine.ask(map.question(engines + point), 0).served;
    const bool loaded = map.question(point).arrivals == study::Arrivals::at_once;
    const double gain = loaded ? packed.per_second(packed.output_tokens) / loop.per_second(loop.output_tokens)
                               : sim::to_seconds(loop.whole.mean()) / sim::to_seconds(packed.whole.mean());
    double& best = loaded ? throughput : latency;
    best = std::max(best, gain);
  }
  values["latte.llm.latency"] = {latency};
  values["latte.llm.throughput"] = {throughput};
}

}  // namespace

ClaimValues latte_claims(const ClaimInputs& inputs) {
  study::Testbed& testbed = inputs.testbed;
  ClaimValues values;
  add_times(values, testbed);
  values["latte.power.large"] = {power_saved(testbed)};
  if (!inputs.drawn) add_inference(values, inputs);
  add_tables(values, inputs.cases);
  return values;
}

}  // namespace c3sim::validate
