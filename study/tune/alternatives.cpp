#include "study/tune/alternatives.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.h"
#include "study/c3/heuristic.h"
#include "study/work/cu_partition.h"

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

std::optional<std::size_t> place_in(const std::vector<PairChoice>& choices, const PairChoice& choice) {
  const auto found = std::ranges::find(choices, choice);
  if (found == choices.end()) return {};
  return static_cast<std::size_t>(found - choices.begin());
}

bool gathers(DependentSchedule::Collective collective) { return collective == DependentSchedule::Collective::gather; }

}  // namespace

std::size_t Alternatives::place_of(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  SIM_CHECK(found != names_.end());
  return static_cast<std::size_t>(found - names_.begin());
}

models::CollectiveSpec CollectiveChoice::spec(models::CollectiveKind kind, sim::Bytes bytes,
                                              const models::PlatformSpec& platform) const {
  Scenario scenario;
  scenario.collective = kind;
  scenario.bytes = bytes;
  scenario.channels = channels;
  models::CollectiveSpec spec = scenario.collective_by(backend, platform);
  spec.variant = variant;
  spec.prelaunch = prelaunch;
  return spec;
}

CollectiveAlternatives::CollectiveAlternatives(models::CollectiveKind kind, const models::PlatformSpec& platform)
    : Alternatives(fmt::format("{}_alone", to_string(kind)), fmt::format("{} alone", to_string(kind)),
                   collective_features()),
      kind_(kind),
      choices_{CollectiveChoice{}} {
  for (const int count : channel_counts(kind, platform)) choices_.push_back({.channels = count});
  std::ranges::move(engine_choices(kind), std::back_inserter(choices_));
  for (const CollectiveChoice& choice : choices_) names_.push_back(name_of(choice));
}

bool CollectiveAlternatives::is_possible(const Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  return testbed.why_impossible(choices_[alternative].spec(kind_, sizes.bytes, testbed.platform())).empty();
}

sim::Time CollectiveAlternatives::bound(Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  return time(testbed, sizes, alternative);
}

sim::Time CollectiveAlternatives::time(Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  models::CollectiveSpec spec = choices_[alternative].spec(kind_, sizes.bytes, testbed.platform());
  spec.host_threads.reset();  // as the platform has it: there is no GEMM whose thread drives the engines
  return testbed.alone(spec);
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
  for (const PairChoice& choice : choices_) names_.push_back(name_of(choice));
}

bool PairAlternatives::is_possible(const Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  const models::CollectiveSpec spec = choices_[alternative].collective.spec(kind_, sizes.bytes, testbed.platform());
  return testbed.why_impossible(spec).empty() && testbed.why_impossible(sizes.gemm).empty();
}

// Each operation alone, on the CUs that it gets: what is beside it can only cost it time.
sim::Time PairAlternatives::bound(Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  const PairChoice& choice = choices_[alternative];
  const Schedule schedule = schedule_of(sizes, choice, testbed.platform());
  const sim::Time one = testbed.alone_by_turns(schedule[0].work, schedule[0].mask);
  const sim::Time other = testbed.alone_by_turns(schedule[1].work, schedule[1].mask);
  return choice.at_once ? std::max(one, other) : one + other;
}

sim::Time PairAlternatives::time(Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  const PairChoice& choice = choices_[alternative];
  if (!choice.at_once) return bound(testbed, sizes, alternative);
  return testbed.run(schedule_of(sizes, choice, testbed.platform())).makespan();
}

std::optional<std::size_t> PairAlternatives::by_strategy(Testbed& testbed, const Sizes& sizes,
                                                         Strategy strategy) const {
  PairChoice choice{.at_once = strategy != Strategy::serial};
  Scenario scenario;
  scenario.gemm = sizes.gemm;
  scenario.collective = kind_;
  scenario.bytes = sizes.bytes;
  switch (strategy) {
    case Strategy::serial:
    case Strategy::c3_base:
      break;
    case Strategy::c3_sp:
      choice.order = LaunchOrder::collective_first;
      break;
    case Strategy::heuristic:
      choice.order = order_by_workgroups(scenario, testbed.platform());
      choice.reserved = cus_by_table(testbed, scenario);
      break;
    case Strategy::conccl_rp:
      if (testbed.is_memory_bound(sizes.gemm)) choice.reserved = testbed.platform().gpu.memory.xcds;
      [[fallthrough]];
    case Strategy::conccl:
      choice.collective.backend = models::Backend::sdma;
      break;
    case Strategy::c3_rp:
    case Strategy::c3_sp_rp:
    case Strategy::c3_best:
      return {};  // searches, not choices
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
  if (!choice.at_once) {
    trial.strategy = Strategy::serial;
  } else if (choice.collective.backend == models::Backend::sdma) {
    trial.strategy = reserves ? Strategy::conccl_rp : Strategy::conccl;
  } else if (choice.order == LaunchOrder::gemm_first) {
    trial.strategy = reserves ? Strategy::c3_rp : Strategy::c3_base;
  } else {
    trial.strategy = reserves ? Strategy::c3_sp_rp : Strategy::c3_sp;
  }
  return trial;
}

std::optional<std::size_t> PairAlternatives::of_trial(const C3Trial& trial) const {
  using enum Strategy;
  const Scenario& scenario = trial.scenario;
  const Strategy strategy = trial.strategy;
  const bool reserves = strategy == c3_rp || strategy == c3_sp_rp || strategy == conccl_rp;
  // How much was kept, and what a search found, only the table can say.
  if ((reserves && !scenario.reserved) || strategy == c3_best || strategy == heuristic) return {};
  PairChoice choice{.at_once = strategy != serial};
  if (strategy == c3_sp || strategy == c3_sp_rp) choice.order = LaunchOrder::collective_first;
  if (reserves) choice.reserved = *scenario.reserved;
  if (strategy == conccl || strategy == conccl_rp) {
    choice.collective = {
        .backend = models::Backend::sdma, .variant = scenario.variant, .prelaunch = scenario.prelaunch};
  } else {
    choice.collective.channels = scenario.channels;
  }
  return place_in(choices_, choice);
}

Schedule PairAlternatives::schedule_of(const Sizes& sizes, const PairChoice& choice,
                                       const models::PlatformSpec& platform) const {
  const CuPartition cus = reserve(platform, choice.reserved);
  const bool engines = choice.collective.backend == models::Backend::sdma;
  Operation gemm = operation_of(sizes.gemm, cus.gemm, "compute");
  Operation collective = operation_of(choice.collective.spec(kind_, sizes.bytes, platform),
                                      engines ? models::CuMask{} : cus.collective, "communication");
  if (choice.order == LaunchOrder::gemm_first) return {std::move(gemm), std::move(collective)};
  return {std::move(collective), std::move(gemm)};
}

ScheduleAlternatives::ScheduleAlternatives(DependentSchedule::Collective collective)
    : Alternatives(gathers(collective) ? "all_gather_before_gemm" : "reduce_scatter_after_gemm",
                   gathers(collective) ? "a GEMM whose columns are gathered first"
                                       : "a GEMM whose columns are added up over the GPUs and scattered",
                   gemm_features()) {
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    if (schedule.collective != collective) continue;
    schedules_.push_back(schedule);
    names_.emplace_back(to_string(schedule));
  }
}

bool ScheduleAlternatives::is_possible(const Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  return testbed.why_impossible(sizes.gemm).empty() &&
         why_impossible(schedules_[alternative], sizes.gemm, testbed.platform()).empty();
}

// Pieces may be multiplied by better kernels than the whole is, but not beyond the peak.
sim::Time ScheduleAlternatives::bound(Testbed& testbed, const Sizes& sizes, std::size_t) const {
  return sim::to_time(sizes.gemm.flops() / sim::FlopsPerSecond(testbed.platform().gpu.peak_flops()));
}

sim::Time ScheduleAlternatives::time(Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  return testbed.run(operations_of(schedules_[alternative], sizes.gemm, testbed.platform())).makespan();
}

}  // namespace c3sim::study
