#include "validate/baseline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/collectives/kernel_collective.h"
#include "study/c3/heuristic.h"

namespace c3sim::validate {

namespace {

using study::Figure;

// Of two operations at once, which was launched first, and what the second waited.
struct Launch {
  bool gemm_first = false;
  double delay = 0.0;  // seconds
};

Launch launch_of(const study::Trial& trial) {
  const auto* const c3 = std::get_if<study::C3Trial>(&trial);
  if (c3 == nullptr) return {};
  const bool collective_first = c3->strategy == study::Strategy::c3_sp || c3->strategy == study::Strategy::c3_sp_rp;
  return {!collective_first, sim::to_seconds(c3->scenario.delay).value()};
}

// Times of both, of the GEMM and of the collective under a rule.
struct Times {
  double both, gemm, collective;
};

// Each takes as long as alone; where they run one after the other, the second waits for the end of the first.
enum class OverlapRule { perfect_overlap, one_after_the_other };
Times times_under(OverlapRule rule, const Launch& launch, double gemm, double collective) {
  const double first = launch.gemm_first ? gemm : collective;
  const double second = launch.gemm_first ? collective : gemm;
  const double begin = rule == OverlapRule::perfect_overlap ? launch.delay : std::max(first, launch.delay);
  const double of_second = begin - launch.delay + second;
  return {std::max(first, begin + second), launch.gemm_first ? gemm : of_second,
          launch.gemm_first ? of_second : collective};
}

std::optional<double> figure_of(Figure figure, const Times& times, double gemm, double collective) {
  switch (figure) {
    case Figure::time:
      return times.both;
    case Figure::gemm_time:
      return times.gemm;
    case Figure::collective_time:
      return times.collective;
    case Figure::over_longer:
      return times.both / std::max(gemm, collective);
    case Figure::gemm_stretch:
      return times.gemm / gemm;
    default:
      return {};
  }
}

bool needs_collective(Figure figure) { return figure != Figure::gemm_time && figure != Figure::gemm_stretch; }

void add_overlap_rules(Case& one) {
  if (!one.alone.gemm && !one.alone.collective) return;
  const double gemm = one.alone.gemm.value_or(0.0);
  const double collective = one.alone.collective.value_or(0.0);
  const bool knows_both = one.alone.gemm && one.alone.collective;
  const auto under = [&](OverlapRule rule) {
    return figure_of(one.figure, times_under(rule, launch_of(one.trial), gemm, collective), gemm, collective);
  };
  if (knows_both || (one.alone.gemm && !needs_collective(one.figure))) {
    one.baselines.perfect = under(OverlapRule::perfect_overlap);
  }
  if (knows_both) one.baselines.serial = under(OverlapRule::one_after_the_other);
}

// ceil(tiles / (CUs - lost)) / ceil(tiles / CUs).
double waves_over_alone(double tiles, double cus, double lost) {
  return std::ceil(tiles / std::max(cus - lost, 1.0)) / std::ceil(tiles / cus);
}

// CUs that a collective by kernels takes from a GEMM that runs at the same time, or that are kept from it.
double cus_lost(const study::C3Trial& trial, const models::PlatformSpec& platform) {
  using enum study::Strategy;
  const study::Strategy strategy = trial.strategy;
  if (strategy == conccl || strategy == serial) return 0.0;
  if (strategy == conccl_rp) return trial.scenario.reserved.value_or(0);
  const bool reserves = strategy == c3_rp || strategy == c3_sp_rp;
  if (reserves && trial.scenario.reserved) return *trial.scenario.reserved;
  return platform.rccl.channels(trial.scenario.collective, trial.scenario.channels);
}

void add_waves(Case& one, const models::PlatformSpec& platform) {
  if (!one.alone.tiles || !one.alone.gemm) return;
  const double cus = platform.gpu.cus();
  if (const auto* const trial = std::get_if<study::GemmTrial>(&one.trial)) {
    if (!trial->cus || one.figure != Figure::time) return;
    one.baselines.waves = *one.alone.gemm * waves_over_alone(*one.alone.tiles, cus, cus - *trial->cus);
  }
  if (const auto* const trial = std::get_if<study::C3Trial>(&one.trial)) {
    const double stretch = waves_over_alone(*one.alone.tiles, cus, cus_lost(*trial, platform));
    if (one.figure == Figure::gemm_time) one.baselines.waves = *one.alone.gemm * stretch;
    if (one.figure == Figure::gemm_stretch) one.baselines.waves = stretch;
  }
}

// What a constant factor multiplies, of isolated work: its time at peak rates, or 1 where the figure is no time.
std::optional<double> at_peak(const Case& one, const models::PlatformSpec& platform) {
  if (one.form().error == study::ErrorKind::points) return {};
  if (one.figure != Figure::time) return 1.0;
  const double link = platform.fabric.peak_rate_out().value();
  if (const auto* const gemm = std::get_if<study::GemmTrial>(&one.trial)) {
    const double share = gemm->cus ? static_cast<double>(*gemm->cus) / platform.gpu.cus() : 1.0;
    return study::roofline(gemm->shape, platform).value() / share;
  }
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&one.trial)) {
    models::CollectiveSpec spec = collective->spec;
    if (spec.gpus == 0) spec.gpus = platform.gpus;
    return study::roofline(spec, platform).value();
  }
  if (const auto* const copy = std::get_if<study::CopyTrial>(&one.trial)) return copy->spec.bytes.value() / link;
  if (const auto* const fan = std::get_if<study::FanOutTrial>(&one.trial))
    return fan->peers * fan->bytes.value() / link;
  return 1.0;
}

// Of a step, sums of rooflines: of all its operations, one after the other, and as if all communication were hidden.
std::optional<double> add_step_rules(Case& one, const study::StepTrial& trial, const models::PlatformSpec& platform) {
  if (one.figure != Figure::time) return {};
  const study::StepRoofline sums = study::roofline(trial, platform);
  one.baselines.perfect = std::max(sums.compute, sums.communication).value();
  one.baselines.serial = (sums.compute + sums.communication).value();
  return one.baselines.serial;
}

using GroupKey = std::tuple<std::string, std::string, std::string, Figure>;

GroupKey key_of(const Case& one) { return {one.suite, operation_of(one), strategy_of(one), one.figure}; }

// Sums of logarithms of measured over what the factor multiplies.
struct Logs {
  double sum = 0.0;
  double count = 0.0;
};

std::optional<double> geometric_mean(Logs logs) {
  if (logs.count <= 0.0) return {};
  return std::exp(logs.sum / logs.count);
}

void add_constants(std::vector<Case>& cases, const std::vector<std::optional<double>>& multiplied) {
  std::map<GroupKey, Logs> of_all;
  std::map<GroupKey, Logs> of_calibrate;
  const auto add = [](Logs& logs, double ratio, double times) {
    logs.sum += times * std::log(ratio);
    logs.count += times;
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!multiplied[i]) continue;
    const double ratio = cases[i].measured / *multiplied[i];
    add(of_all[key_of(cases[i])], ratio, 1.0);
    if (cases[i].role == calibrate::Role::calibrate) add(of_calibrate[key_of(cases[i])], ratio, 1.0);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!multiplied[i]) continue;
    std::optional<double> factor = geometric_mean(of_calibrate[key_of(cases[i])]);
    if (!factor) {
      Logs others = of_all[key_of(cases[i])];
      add(others, cases[i].measured / *multiplied[i], -1.0);
      factor = others.count > 0.5 ? geometric_mean(others) : std::nullopt;
    }
    if (factor) cases[i].baselines.constant = *factor * *multiplied[i];
  }
}

}  // namespace

std::string operation_of(const Case& one) {
  if (!study::is_concurrent(one.trial)) return std::string(study::kind_of(one.trial));
  if (one.figure == Figure::gemm_time || one.figure == Figure::gemm_stretch) return "GEMM";
  if (one.figure == Figure::collective_time) return "collective";
  return one.figure == Figure::time || one.figure == Figure::over_longer ? "both" : std::string(one.form().heading);
}

std::string strategy_of(const Case& one) {
  if (const auto* const c3 = std::get_if<study::C3Trial>(&one.trial)) return std::string(to_string(c3->strategy));
  if (const auto* const dependent = std::get_if<study::DependentTrial>(&one.trial)) {
    return std::string(to_string(dependent->schedule));
  }
  return {};
}

void add_baselines(std::vector<Case>& cases, const Platforms& platforms) {
  std::map<Machine, models::PlatformSpec> specs;
  std::vector<std::optional<double>> multiplied;
  multiplied.reserve(cases.size());
  for (Case& one : cases) {
    auto found = specs.find(one.machine);
    if (found == specs.end()) found = specs.emplace(one.machine, platforms(one.machine).spec).first;
    if (const auto* const step = std::get_if<study::StepTrial>(&one.trial)) {
      multiplied.push_back(add_step_rules(one, *step, found->second));
    } else if (study::is_concurrent(one.trial)) {
      add_overlap_rules(one);
      multiplied.push_back(one.baselines.perfect);
    } else {
      multiplied.push_back(at_peak(one, found->second));
    }
    add_waves(one, found->second);
    if (!one.why_not_scored.empty()) multiplied.back() = std::nullopt;
  }
  add_constants(cases, multiplied);
}

}  // namespace c3sim::validate
