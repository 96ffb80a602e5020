#include "study/tune/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/c3/heuristic.h"
#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

constexpr int fewest_channels = 8;

// Powers of two below the library's own choice.
std::vector<int> channel_counts(models::CollectiveKind kind, const models::PlatformSpec& platform) {
  std::vector<int> counts;
  for (int count = fewest_channels; count < platform.rccl.channels(kind, {}); count *= 2) counts.push_back(count);
  return counts;
}

// By engines, of every variant that there is for the collective.
std::vector<CollectiveChoice> engine_choices(models::CollectiveKind kind) {
  std::vector<CollectiveChoice> choices;
  for (const models::SdmaPlan& plan : models::sdma_plans()) {
    if (std::ranges::find(plan.kinds, kind) == plan.kinds.end()) continue;
    for (const bool prelaunch : {false, true}) {
      choices.push_back({.backend = models::Backend::sdma, .variant = plan.variant, .prelaunch = prelaunch});
    }
  }
  return choices;
}

std::string name_of(const CollectiveChoice& choice) {
  if (choice.backend == models::Backend::sdma) {
    return fmt::format("engines_{}{}", to_string(choice.variant), choice.prelaunch ? "_prelaunched" : "");
  }
  return choice.channels ? fmt::format("kernels_{}_channels", *choice.channels) : "kernels";
}

std::string name_of(const PairChoice& choice) {
  if (!choice.at_once) return "serial";
  const bool engines = choice.collective.backend == models::Backend::sdma;
  std::string name = engines                                   ? name_of(choice.collective)
                     : choice.order == LaunchOrder::gemm_first ? "gemm_first"
                                                               : "collective_first";
  if (choice.collective.channels) name += fmt::format("_{}_channels", *choice.collective.channels);
  if (choice.reserved > 0) name += fmt::format("_{}_cus_kept", choice.reserved);
  return name;
}

// What strategies of ConCCL choose, beside how many CUs are kept. Those that search or decide are missing.
struct StrategyChoice {
  Strategy strategy;
  PairChoice choice;
  bool reserves = false;
};
constexpr std::array strategy_choices_of_pairs{
    StrategyChoice{Strategy::serial, {}},
    StrategyChoice{Strategy::c3_base, {.at_once = true}},
    StrategyChoice{Strategy::c3_rp, {.at_once = true}, true},
    StrategyChoice{Strategy::c3_sp, {.at_once = true, .order = LaunchOrder::collective_first}},
    StrategyChoice{Strategy::c3_sp_rp, {.at_once = true, .order = LaunchOrder::collective_first}, true},
    StrategyChoice{Strategy::conccl, {.at_once = true, .collective = {.backend = models::Backend::sdma}}},
    StrategyChoice{Strategy::conccl_rp, {.at_once = true, .collective = {.backend = models::Backend::sdma}}, true},
};
const StrategyChoice* find_choice(Strategy strategy) {
  const auto* const found = std::ranges::find(strategy_choices_of_pairs, strategy, &StrategyChoice::strategy);
  return found == strategy_choices_of_pairs.end() ? nullptr : found;
}

std::optional<std::size_t> place_in(const std::vector<PairChoice>& choices, const PairChoice& choice) {
  const auto found = std::ranges::find(choices, choice);
  if (found == choices.end()) return {};
  return static_cast<std::size_t>(found - choices.begin());
}

Schedule schedule_of(models::CollectiveKind kind, const Sizes& sizes, const PairChoice& choice,
                     const models::PlatformSpec& platform) {
  const CuPartition cus = reserve(platform, choice.reserved);
  const bool engines = choice.collective.backend == models::Backend::sdma;
  Operation gemm = operation_of(sizes.gemm, cus.gemm, "compute");
  Operation collective = operation_of(choice.collective.spec(kind, sizes.bytes, platform),
                                      engines ? models::CuMask{} : cus.collective, "communication");
  if (choice.order == LaunchOrder::gemm_first) return {std::move(gemm), std::move(collective)};
  return {std::move(collective), std::move(gemm)};
}

Alternative pair_alternative(models::CollectiveKind kind, const PairChoice& choice) {
  const auto is_possible = [=](const Testbed& testbed, const Sizes& sizes) {
    const models::CollectiveSpec spec = choice.collective.spec(kind, sizes.bytes, testbed.platform());
    return testbed.why_impossible(spec).empty() && testbed.why_impossible(sizes.gemm).empty();
  };
  // Each operation alone, on the CUs that it gets: what is beside it can only cost it time.
  const auto bound = [=](Testbed& testbed, const Sizes& sizes) {
    const Schedule schedule = schedule_of(kind, sizes, choice, testbed.platform());
    const sim::Time one = testbed.alone_by_turns(schedule[0].work, schedule[0].mask);
    const sim::Time other = testbed.alone_by_turns(schedule[1].work, schedule[1].mask);
    return choice.at_once ? std::max(one, other) : one + other;
  };
  const auto time = [=](Testbed& testbed, const Sizes& sizes) {
    if (!choice.at_once) return bound(testbed, sizes);
    return testbed.run(schedule_of(kind, sizes, choice, testbed.platform())).makespan();
  };
  return {name_of(choice), is_possible, bound, time};
}

Alternative collective_alternative(models::CollectiveKind kind, const CollectiveChoice& choice) {
  const auto is_possible = [=](const Testbed& testbed, const Sizes& sizes) {
    return testbed.why_impossible(choice.spec(kind, sizes.bytes, testbed.platform())).empty();
  };
  const auto time = [=](Testbed& testbed, const Sizes& sizes) {
    models::CollectiveSpec spec = choice.spec(kind, sizes.bytes, testbed.platform());
    spec.host_threads.reset();  // as the platform has it: there is no GEMM whose thread drives the engines
    return testbed.alone(spec);
  };
  return {name_of(choice), is_possible, time, time};
}

Alternative schedule_alternative(const DependentSchedule& schedule) {
  const auto is_possible = [=](const Testbed& testbed, const Sizes& sizes) {
    return testbed.why_impossible(sizes.gemm).empty() &&
           why_impossible(schedule, sizes.gemm, testbed.platform()).empty();
  };
  // Pieces may be multiplied by better kernels than the whole is, but not beyond the peak.
  const auto bound = [](Testbed& testbed, const Sizes& sizes) {
    return sim::to_time(sizes.gemm.flops() / sim::FlopsPerSecond(testbed.platform().gpu.peak_flops()));
  };
  const auto time = [=](Testbed& testbed, const Sizes& sizes) {
    return testbed.run(operations_of(schedule, sizes.gemm, testbed.platform())).makespan();
  };
  return {std::string(to_string(schedule)), is_possible, bound, time};
}

}  // namespace

models::CollectiveSpec CollectiveChoice::spec(models::CollectiveKind kind, sim::Bytes bytes,
                                              const models::PlatformSpec& platform) const {
  Scenario scenario;
  scenario.collective = kind;
  scenario.bytes = bytes;
  scenario.channels = channels;
  scenario.variant = variant;
  scenario.prelaunch = prelaunch;
  return scenario.collective_by(backend, platform);
}

CollectiveAlternatives::CollectiveAlternatives(models::CollectiveKind kind, const models::PlatformSpec& platform)
    : Alternatives(fmt::format("{}_alone", to_string(kind)), fmt::format("{} alone", to_string(kind)),
                   collective_features()),
      kind_(kind),
      choices_{CollectiveChoice{}} {
  for (const int count : channel_counts(kind, platform)) choices_.push_back({.channels = count});
  std::ranges::move(engine_choices(kind), std::back_inserter(choices_));
  for (const CollectiveChoice& choice : choices_) add(collective_alternative(kind, choice));
}

PairAlternatives::PairAlternatives(models::CollectiveKind kind, const models::PlatformSpec& platform)
    : Alternatives(fmt::format("{}_beside_gemm", to_string(kind)),
                   fmt::format("{} beside a GEMM that does not depend on it", to_string(kind)), pair_features()),
      kind_(kind),
      choices_{PairChoice{}} {
  for (const LaunchOrder order : {LaunchOrder::gemm_first, LaunchOrder::collective_first}) {
    choices_.push_back({.at_once = true, .order = order});
    for (const int count : channel_counts(kind, platform)) {
      choices_.push_back({.at_once = true, .order = order, .collective = {.channels = count}});
    }
    for (const int cus : cu_reservations(platform)) {
      choices_.push_back({.at_once = true, .order = order, .reserved = cus});
    }
  }
  const int one_of_each = platform.gpu.memory.xcds;
  for (const CollectiveChoice& engines : engine_choices(kind)) {
    choices_.push_back({.at_once = true, .collective = engines});
    if (!why_no_reservation(platform, one_of_each).empty()) continue;
    choices_.push_back({.at_once = true, .reserved = one_of_each, .collective = engines});
  }
  for (const PairChoice& choice : choices_) add(pair_alternative(kind, choice));
}

std::optional<std::size_t> PairAlternatives::by_strategy(Testbed& testbed, const Sizes& sizes,
                                                         Strategy strategy) const {
  PairChoice choice{.at_once = true};
  if (strategy == Strategy::heuristic) {
    Scenario scenario;
    scenario.gemm = sizes.gemm;
    scenario.collective = kind_;
    scenario.bytes = sizes.bytes;
    choice.order = order_by_workgroups(scenario, testbed.platform());
    choice.reserved = cus_by_table(testbed, scenario);
  } else {
    const StrategyChoice* const of_strategy = find_choice(strategy);
    if (of_strategy == nullptr) return {};
    choice = of_strategy->choice;
    const bool engines = choice.collective.backend == models::Backend::sdma;
    if (of_strategy->reserves && !engines) return {};  // a search
    if (of_strategy->reserves && testbed.is_memory_bound(sizes.gemm)) {
      choice.reserved = testbed.platform().gpu.memory.xcds;
    }
  }
  return place_in(choices_, choice);
}

C3Trial PairAlternatives::trial_of(const Sizes& sizes, std::size_t alternative) const {
  const PairChoice& choice = choices_[alternative];
  const bool reserves = choice.reserved > 0;
  C3Trial trial;
  trial.scenario.gemm = sizes.gemm;
  trial.scenario.collective = kind_;
  trial.scenario.bytes = sizes.bytes;
  trial.scenario.channels = choice.collective.channels;
  trial.scenario.variant = choice.collective.variant;
  trial.scenario.prelaunch = choice.collective.prelaunch;
  if (reserves) trial.scenario.reserved = choice.reserved;
  for (const auto& [strategy, of_strategy, has_reserved] : strategy_choices_of_pairs) {
    const bool is_same = of_strategy.at_once == choice.at_once && of_strategy.order == choice.order &&
                         of_strategy.collective.backend == choice.collective.backend;
    if (is_same && has_reserved == reserves) trial.strategy = strategy;
  }
  return trial;
}

std::optional<std::size_t> PairAlternatives::of_trial(const C3Trial& trial) const {
  const Scenario& scenario = trial.scenario;
  const StrategyChoice* const of_strategy = find_choice(trial.strategy);
  // How much was kept, and what a search found, only the table can say.
  if (of_strategy == nullptr || (of_strategy->reserves && !scenario.reserved)) return {};
  PairChoice choice = of_strategy->choice;
  if (of_strategy->reserves) choice.reserved = *scenario.reserved;
  if (choice.collective.backend == models::Backend::sdma) {
    choice.collective.variant = scenario.variant;
    choice.collective.prelaunch = scenario.prelaunch;
  } else {
    choice.collective.channels = scenario.channels;
  }
  return place_in(choices_, choice);
}

Alternatives schedule_alternatives(DependentSchedule::Collective collective) {
  const bool gathers = collective == DependentSchedule::Collective::gather;
  Alternatives alternatives(gathers ? "all_gather_before_gemm" : "reduce_scatter_after_gemm",
                            gathers ? "a GEMM whose columns are gathered first"
                                    : "a GEMM whose columns are added up over the GPUs and scattered",
                            gemm_features());
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    if (schedule.collective == collective) alternatives.add(schedule_alternative(schedule));
  }
  return alternatives;
}

namespace {

double count(std::int64_t value) { return static_cast<double>(value); }
double product(const models::GemmShape& gemm) { return count(gemm.m) * count(gemm.n) * count(gemm.k); }

constexpr SizeFeature m{"m", "rows of the result", "m", [](const Sizes& sizes) { return count(sizes.gemm.m); }};
constexpr SizeFeature n{"n", "columns of the result", "n", [](const Sizes& sizes) { return count(sizes.gemm.n); }};
constexpr SizeFeature k{"k", "contraction", "k", [](const Sizes& sizes) { return count(sizes.gemm.k); }};
constexpr SizeFeature result{"elements", "elements of the result", "m * n",
                             [](const Sizes& sizes) { return count(sizes.gemm.m) * count(sizes.gemm.n); }};
constexpr SizeFeature flops{"flops", "operations of the GEMM", "2 * m * n * k",
                            [](const Sizes& sizes) { return 2.0 * product(sizes.gemm); }};
constexpr SizeFeature intensity{"intensity", "operations of the GEMM per element that it reads or writes",
                                "2 * m * n * k / (m * k + k * n + m * n)", [](const Sizes& sizes) {
                                  const models::GemmShape& gemm = sizes.gemm;
                                  const double elements = count(gemm.m) * count(gemm.k) +
                                                          count(gemm.k) * count(gemm.n) + count(gemm.m) * count(gemm.n);
                                  return 2.0 * product(gemm) / elements;
                                }};
constexpr SizeFeature bytes{"bytes", "whole array of one GPU", "bytes",
                            [](const Sizes& sizes) { return sizes.bytes.value(); }};
constexpr SizeFeature flops_per_byte{
    "flops_per_byte", "operations of the GEMM per byte of the array", "2 * m * n * k / bytes",
    [](const Sizes& sizes) { return 2.0 * product(sizes.gemm) / sizes.bytes.value(); }};

constexpr std::array of_pairs{bytes, flops_per_byte, flops, intensity, result, m, n, k};
constexpr std::array of_gemms{flops, intensity, result, m, n, k};
constexpr std::array of_collectives{bytes};

}  // namespace

std::span<const SizeFeature> pair_features() { return of_pairs; }
std::span<const SizeFeature> gemm_features() { return of_gemms; }
std::span<const SizeFeature> collective_features() { return of_collectives; }

}  // namespace c3sim::study
