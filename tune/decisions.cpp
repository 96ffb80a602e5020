#include "tune/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include "models/collectives/algorithm.h"
#include "sim/check.h"
#include "sim/config/expression.h"
#include "study/play/testbed.h"
#include "study/program/scenario.h"
#include "study/report/statistics.h"

namespace c3sim::tune {

namespace {

constexpr std::array of_pairs{
    SizeFeature{"bytes", "whole array of one GPU", "bytes"},
    SizeFeature{"flops_per_byte", "operations of the GEMM per byte of the array", "2 * m * n * k / bytes"},
    SizeFeature{"flops", "operations of the GEMM", "2 * m * n * k"},
    SizeFeature{"intensity", "operations of the GEMM per element that it reads or writes",
                "2 * m * n * k / (m * k + k * n + m * n)"},
    SizeFeature{"elements", "elements of the result", "m * n"},
    SizeFeature{"m", "rows of the result", "m"},
    SizeFeature{"n", "columns of the result", "n"},
    SizeFeature{"k", "contraction", "k"}};
constexpr std::span of_collectives = std::span(of_pairs).first(1);
constexpr std::span of_gemms = std::span(of_pairs).subspan(2);

constexpr int fewest_channels = 8;

// Returns the powers of two from fewest_channels up to, but not including, the library's own choice.
std::vector<int> channel_counts(models::CollectiveKind kind, const models::PlatformSpec& platform) {
  std::vector<int> counts;
  for (int count = fewest_channels; count < platform.rccl.channels(kind, {}); count *= 2) counts.push_back(count);
  return counts;
}

// Returns the scenario by engines, once for each copy plan that can do its collective, with and without prelaunch.
std::vector<study::Scenario> scenarios_by_engines(const study::Scenario& scenario) {
  std::vector<study::Scenario> scenarios;
  for (const models::Algorithm& engines : models::sdma_variants()) {
    if (std::ranges::find(engines.kinds, scenario.collective) == engines.kinds.end()) continue;
    for (const bool prelaunch : {false, true}) {
      study::Scenario& one = scenarios.emplace_back(scenario);
      one.variant = {engines.name};
      one.prelaunch = prelaunch;
    }
  }
  return scenarios;
}

// `kernels` is the name of the trial where kernels carry the collective.
std::string name_of(const study::C3Trial& trial, std::string_view kernels) {
  const study::Scenario& scenario = trial.scenario;
  std::string name(kernels);
  if (on_copy_engines(trial.strategy)) {
    name = fmt::format("engines_{}{}", to_string(scenario.variant), scenario.prelaunch ? "_prelaunched" : "");
  }
  if (scenario.channels) name += fmt::format("_{}_channels", *scenario.channels);
  if (scenario.reserved) name += fmt::format("_{}_cus_kept", *scenario.reserved);
  return name;
}

study::C3Trial sized(study::C3Trial trial, const Sizes& sizes) {
  trial.scenario.gemm = sizes.gemm;
  trial.scenario.bytes = sizes.bytes;
  return trial;
}

// Returns the operations of an alternative.
study::Schedule operations_of(const Alternatives& alternatives, std::size_t alternative, const Sizes& sizes,
                              const models::PlatformSpec& platform) {
  const auto& [name, trial, schedule] = alternatives.all[alternative];
  if (alternatives.subject == Alternatives::Subject::schedule) return operations_of(schedule, sizes.gemm, platform);
  models::CollectiveSpec spec = collective_of(sized(trial, sizes).scenario, trial.strategy, platform);
  if (alternatives.subject == Alternatives::Subject::collective) {
    spec.host_threads.reset();  // the platform's default: no GEMM's thread drives the engines here
    return {study::operation_of(spec)};
  }
  const study::CuPartition cus = study::reserve(platform, trial.scenario.reserved.value_or(0));
  study::Operation gemm = study::operation_of(sizes.gemm, cus.gemm, "compute");
  study::Operation collective =
      study::operation_of(spec, on_copy_engines(trial.strategy) ? models::CuMask{} : cus.collective, "communication");
  if (launches_collective_first(trial.strategy)) return {std::move(collective), std::move(gemm)};
  return {std::move(gemm), std::move(collective)};
}

using Cases = std::vector<const TreeCase*>;

constexpr int deepest_tree = 8;
constexpr std::size_t most_folds = 10;
constexpr double least_gain = 0.001;  // a split must lower the cost by this for each case

// Returns the alternative that costs least; the first one wins ties.
std::size_t cheapest(std::span<const double> costs) {
  return static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
}

std::vector<double> sums_of(const Cases& cases) {
  std::vector<double> sums(cases.front()->costs.size(), 0.0);
  for (const TreeCase* const one : cases) std::ranges::transform(sums, one->costs, sums.begin(), std::plus());
  return sums;
}

struct Found {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t feature = 0;
  double low = 0.0, high = 0.0;  // the feature's values at the nearest cases of both sides
};

// Returns the split that minimizes the summed cost of the best alternatives of its two sides.
Found best_split(const Cases& cases) {
  Found best;
  const std::vector<double> all = sums_of(cases);
  for (std::size_t feature = 0; feature < cases.front()->features.size(); ++feature) {
    const auto value = [&](const TreeCase* one) { return one->features[feature]; };
    Cases sorted = cases;
    std::ranges::stable_sort(sorted, {}, value);
    std::vector<double> below(all.size(), 0.0);
    std::vector<double> above = all;
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        below[j] += sorted[i]->costs[j];
        above[j] -= sorted[i]->costs[j];
      }
      if (value(sorted[i]) == value(sorted[i + 1])) continue;
      const double cost = std::ranges::min(below) + std::ranges::min(above);
      if (cost < best.cost) best = {cost, feature, value(sorted[i]), value(sorted[i + 1])};
    }
  }
  return best;
}

// Fits a tree with at most `depth` splits from its root, which is reached under `conditions`, to a leaf.
DecisionTree fit_tree(const Cases& cases, int depth, std::vector<DecisionTree::Condition> conditions = {}) {
  const std::vector<double> sums = sums_of(cases);
  const std::size_t own = cheapest(sums);
  const Found split = depth > 0 ? best_split(cases) : Found();
  const bool gains = sums[own] - split.cost > least_gain * static_cast<double>(cases.size());
  if (!gains) return {{{std::move(conditions), own, cases.size()}}};
  const double threshold = round_between(split.low, split.high);
  DecisionTree tree;
  for (const bool above : {false, true}) {
    Cases side;
    std::ranges::copy_if(cases, std::back_inserter(side),
                         [&](const TreeCase* one) { return (one->features[split.feature] > threshold) == above; });
    conditions.push_back({split.feature, threshold, above});
    std::ranges::move(fit_tree(side, depth - 1, conditions).leaves, std::back_inserter(tree.leaves));
    conditions.pop_back();
  }
  return tree;
}

// Calls test(train, held) for every fold of the cases; never if there is only one fold. Groups are dealt to folds in
// the order in which they appear.
void for_each_fold(const Cases& cases, const std::function<void(const Cases& train, const Cases& held)>& test) {
  std::map<std::string, std::size_t> groups;
  for (const TreeCase* const one : cases) groups.try_emplace(one->group, groups.size());
  const std::size_t folds = std::min(most_folds, groups.size());
  for (std::size_t fold = 0; fold < folds && folds > 1; ++fold) {
    Cases train;
    Cases held;
    for (const TreeCase* const one : cases) (groups.at(one->group) % folds == fold ? held : train).push_back(one);
    test(train, held);
  }
}

int best_depth(const Cases& cases) {
  std::vector<double> costs(deepest_tree + 1, 0.0);
  for_each_fold(cases, [&](const Cases& train, const Cases& held) {
    for (int depth = 0; depth <= deepest_tree; ++depth) {
      const DecisionTree tree = fit_tree(train, depth);
      for (const TreeCase* const one : held) {
        costs[static_cast<std::size_t>(depth)] += one->costs[tree.choose(one->features)];
      }
    }
  });
  return static_cast<int>(std::ranges::min_element(costs) - costs.begin());
}

Cases all_of(std::span<const TreeCase> cases) {
  Cases all;
  for (const TreeCase& one : cases) all.push_back(&one);
  return all;
}

}  // namespace

Alternatives collective_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform) {
  Alternatives alternatives{Alternatives::Subject::collective, fmt::format("{}_alone", to_string(kind)),
                            fmt::format("{} alone", to_string(kind)), of_collectives, kind};
  study::C3Trial kernels{.scenario = {.name = {}, .gemm = {}, .collective = kind, .bytes = {}}};
  const study::Scenario usual = kernels.scenario;
  const auto add = [&](study::C3Trial trial) {
    alternatives.all.push_back({name_of(trial, "kernels"), std::move(trial)});
  };
  add(kernels);
  for (const int count : channel_counts(kind, platform)) {
    kernels.scenario.channels = count;
    add(kernels);
  }
  for (const study::Scenario& engines : scenarios_by_engines(usual)) add({engines, study::Strategy::conccl});
  return alternatives;
}

Alternatives pair_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform) {
  Alternatives alternatives{Alternatives::Subject::pair, fmt::format("{}_beside_gemm", to_string(kind)),
                            fmt::format("{} beside a GEMM that does not depend on it", to_string(kind)), of_pairs,
                            kind};
  const study::Scenario usual{.name = {}, .gemm = {}, .collective = kind, .bytes = {}};
  const auto add = [&](study::Scenario scenario, study::Strategy strategy, std::optional<int> channels = {},
                       std::optional<int> reserved = {}) {
    scenario.channels = channels;
    scenario.reserved = reserved;
    const char* const kernels = strategy == study::Strategy::serial   ? "serial"
                                : launches_collective_first(strategy) ? "collective_first"
                                                                      : "gemm_first";
    study::C3Trial trial{std::move(scenario), strategy};
    alternatives.all.push_back({name_of(trial, kernels), std::move(trial)});
  };
  add(usual, study::Strategy::serial);
  for (const auto& [bare, reserving] : {std::pair(study::Strategy::c3_base, study::Strategy::c3_rp),
                                        {study::Strategy::c3_sp, study::Strategy::c3_sp_rp}}) {
    add(usual, bare);
    for (const int count : channel_counts(kind, platform)) add(usual, bare, count);
    for (const int cus : study::cu_reservations(platform)) add(usual, reserving, {}, cus);
  }
  const int one_of_each = platform.gpu.memory.xcds;
  for (const study::Scenario& engines : scenarios_by_engines(usual)) {
    add(engines, study::Strategy::conccl);
    if (study::why_no_reservation(platform, one_of_each).empty())
      add(engines, study::Strategy::conccl_rp, {}, one_of_each);
  }
  return alternatives;
}

double SizeFeature::of(const Sizes& sizes) const {
  const std::map<std::string_view, double> values{{"m", static_cast<double>(sizes.gemm.m)},
                                                  {"n", static_cast<double>(sizes.gemm.n)},
                                                  {"k", static_cast<double>(sizes.gemm.k)},
                                                  {"bytes", sizes.bytes.value()}};
  return sim::Expression(expression)
      .amount([&values](std::string_view parameter) {
        return sim::Amount{values.at(parameter), {}};
      })
      .value;
}

bool Alternatives::is_possible(const study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  if (subject == Subject::schedule) {
    return testbed.why_impossible(sizes.gemm).empty() &&
           why_impossible(all[alternative].schedule, sizes.gemm, testbed.platform()).empty();
  }
  return std::ranges::all_of(
      operations_of(*this, alternative, sizes, testbed.platform()),
      [&testbed](const study::Work& work) { return testbed.why_impossible(work).empty(); }, &study::Operation::work);
}

sim::Time Alternatives::bound(study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  if (subject == Subject::collective) return time(testbed, sizes, alternative);
  // Pieces may run by better kernels than the whole GEMM, so the bound of schedules is the peak rate.
  if (subject == Subject::schedule) {
    return sim::to_time(sizes.gemm.flops() / sim::FlopsPerSecond(testbed.platform().gpu.peak_flops()));
  }
  // The bound lets each operation run alone on its CUs: concurrent work can only slow it down.
  const study::Schedule pair = operations_of(*this, alternative, sizes, testbed.platform());
  const sim::Time one = testbed.alone_by_turns(pair[0].work, pair[0].mask);
  const sim::Time other = testbed.alone_by_turns(pair[1].work, pair[1].mask);
  return all[alternative].trial.strategy == study::Strategy::serial ? one + other : std::max(one, other);
}

sim::Time Alternatives::time(study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const {
  if (all[alternative].trial.strategy == study::Strategy::serial) return bound(testbed, sizes, alternative);
  return testbed.run(operations_of(*this, alternative, sizes, testbed.platform())).makespan();
}

std::vector<double> Alternatives::features_of(const Sizes& sizes) const {
  std::vector<double> values;
  for (const SizeFeature& feature : features) values.push_back(feature.of(sizes));
  return values;
}

std::optional<std::size_t> Alternatives::by_strategy(study::Testbed& testbed, const Sizes& sizes,
                                                     study::Strategy strategy) const {
  study::C3Trial trial{.scenario = {.name = {}, .gemm = sizes.gemm, .collective = kind, .bytes = sizes.bytes},
                       .strategy = strategy};
  std::optional<int>& reserved = trial.scenario.reserved;
  if (strategy == study::Strategy::heuristic) {
    const study::LaunchOrder order = order_by_workgroups(trial.scenario, testbed.platform());
    trial.strategy = order == study::LaunchOrder::gemm_first ? study::Strategy::c3_rp : study::Strategy::c3_sp_rp;
    reserved = cus_by_table(testbed, trial.scenario);
  } else if (strategy == study::Strategy::conccl_rp) {
    reserved = testbed.is_memory_bound(sizes.gemm) ? testbed.platform().gpu.memory.xcds : 0;
  }
  return of_trial(trial);
}

study::C3Trial Alternatives::trial_of(const Sizes& sizes, std::size_t alternative) const {
  return sized(all[alternative].trial, sizes);
}

std::optional<std::size_t> Alternatives::of_trial(const study::C3Trial& trial) const {
  const study::Scenario& scenario = trial.scenario;
  study::C3Trial own{.scenario = {.name = {}, .gemm = {}, .collective = kind, .bytes = {}}, .strategy = trial.strategy};
  if (const std::optional<study::Strategy> bare = without_reservation(trial.strategy)) {
    if (!scenario.reserved) return {};  // tables alone know how many CUs were kept, or what a search found
    if (*scenario.reserved > 0) own.scenario.reserved = scenario.reserved;
    if (*scenario.reserved == 0) own.strategy = *bare;
  }
  if (on_copy_engines(trial.strategy)) {
    own.scenario.variant = scenario.variant;
    own.scenario.prelaunch = scenario.prelaunch;
  } else {
    own.scenario.channels = scenario.channels;
  }
  const auto found = std::ranges::find(all, own, &Alternative::trial);
  return found == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - all.begin()));
}

Alternatives schedule_alternatives(study::DependentSchedule::Collective collective) {
  const bool gathers = collective == study::DependentSchedule::Collective::gather;
  Alternatives alternatives{Alternatives::Subject::schedule,
                            gathers ? "all_gather_before_gemm" : "reduce_scatter_after_gemm",
                            gathers ? "a GEMM whose columns are gathered first"
                                    : "a GEMM whose columns are added up over the GPUs and scattered",
                            of_gemms};
  for (const study::DependentSchedule& schedule : study::all_dependent_schedules()) {
    if (schedule.collective == collective) alternatives.all.push_back({std::string(to_string(schedule)), {}, schedule});
  }
  return alternatives;
}

std::size_t Decision::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].time && (!best || *attempts[i].time < *attempts[*best].time)) best = i;
  }
  return best.value_or(0);
}

std::size_t Decision::plainest() const {
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].time && regret(i) <= as_good) return i;
  }
  return best();
}

double Decision::regret(std::size_t alternative) const {
  const Attempted& attempt = attempts[alternative];
  SIM_CHECK(attempt.is_possible);
  return std::max(0.0, sim::to_seconds(attempt.known()) / sim::to_seconds(attempts[best()].known()) - 1.0);
}

double Decision::cost(std::size_t alternative) const {
  if (!attempts[alternative].is_possible) return 1.0;
  const double lost = regret(alternative);
  return lost <= as_good ? 0.0 : lost;
}

namespace {

// Fills in the measured times of a decision, of repetitions their median.
void take_measured(const Alternatives& alternatives, const std::vector<MeasuredChoice>& measured, Decision& decision) {
  std::map<std::size_t, std::vector<double>> seen;  // measured seconds, by alternative
  for (const MeasuredChoice& one : measured) {
    if (one.kind != alternatives.key || one.sizes != decision.sizes) continue;
    const auto named = std::ranges::find(alternatives.all, one.alternative, &Alternative::name);
    SIM_CHECK(named != alternatives.all.end());
    seen[static_cast<std::size_t>(named - alternatives.all.begin())].push_back(sim::to_seconds(one.time).value());
  }
  for (const auto& [alternative, seconds] : seen) {
    decision.attempts[alternative].time = sim::to_time(sim::Seconds(study::median(seconds)));
    decision.attempts[alternative].is_measured = true;
  }
}

// Simulates alternatives in order of their bounds, as those with the least bounds rule most others out.
void attempt_one(study::Testbed& testbed, const Alternatives& alternatives, const std::vector<MeasuredChoice>& measured,
                 double beyond, Decision& decision) {
  decision.attempts.resize(alternatives.all.size());
  for (std::size_t i = 0; i < decision.attempts.size(); ++i) {
    Attempted& attempt = decision.attempts[i];
    attempt.is_possible = alternatives.is_possible(testbed, decision.sizes, i);
    if (attempt.is_possible) attempt.bound = alternatives.bound(testbed, decision.sizes, i);
  }
  take_measured(alternatives, measured, decision);
  std::vector<std::size_t> order(decision.attempts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return decision.attempts[i].bound; });
  std::optional<sim::Time> best;
  for (const std::size_t i : order) {
    Attempted& attempt = decision.attempts[i];
    if (!attempt.is_possible) continue;
    if (!attempt.time) {
      if (best && sim::to_seconds(attempt.bound) > (1.0 + beyond) * sim::to_seconds(*best)) continue;
      attempt.time = alternatives.time(testbed, decision.sizes, i);
    }
    best = std::min(best.value_or(*attempt.time), *attempt.time);
  }
}

}  // namespace

void Decisions::attempt(study::Testbed& testbed, const std::vector<MeasuredChoice>& measured, double beyond,
                        const study::Progress& progress, int jobs) {
  study::for_each_on_testbeds(
      testbed, all.size(),
      [&](study::Testbed& own, std::size_t index) { attempt_one(own, alternatives, measured, beyond, all[index]); },
      progress, jobs);
}

void Decisions::attempt(study::Testbed& testbed, const std::vector<std::size_t>& chosen, int jobs) {
  study::for_each_on_testbeds(
      testbed, all.size(),
      [&](study::Testbed& own, std::size_t index) {
        Attempted& attempt = all[index].attempts[chosen[index]];
        if (attempt.is_possible && !attempt.time) {
          attempt.time = alternatives.time(own, all[index].sizes, chosen[index]);
        }
      },
      {}, jobs);
}

std::vector<TreeCase> Decisions::tree_cases() const {
  std::vector<TreeCase> cases;
  for (const Decision& decision : all) {
    TreeCase& one = cases.emplace_back(TreeCase{alternatives.features_of(decision.sizes), {}, decision.group});
    for (std::size_t i = 0; i < decision.attempts.size(); ++i) one.costs.push_back(decision.cost(i));
  }
  return cases;
}

RuleRecord record_of(std::string rule, const std::vector<Decision>& decisions, const std::vector<std::size_t>& chosen,
                     double error) {
  RuleRecord record{.rule = std::move(rule), .decisions = decisions.size()};
  double sum = 0.0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!decisions[i].attempts[chosen[i]].is_possible) continue;
    ++record.possible;
    const double regret = decisions[i].regret(chosen[i]);
    if (regret <= Decision::as_good) ++record.right;
    if (regret <= error) ++record.within_error;
    sum += regret;
    record.worst_regret = std::max(record.worst_regret, regret);
  }
  if (record.possible > 0) record.mean_regret = sum / static_cast<double>(record.possible);
  return record;
}

std::size_t best_constant(const std::vector<Decision>& decisions) {
  std::vector<double> sums(decisions.front().attempts.size(), 0.0);
  for (const Decision& decision : decisions) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += decision.cost(i);
  }
  return cheapest(sums);
}

double round_between(double low, double high) {
  const double middle = std::sqrt(low * high);
  constexpr int most_digits = std::numeric_limits<double>::max_digits10;
  for (int digits = 1; digits <= most_digits; ++digits) {
    const double rounded = std::stod(fmt::format("{:.{}e}", middle, digits - 1));
    if (low <= rounded && rounded < high) return rounded;
  }
  return low;
}

std::size_t DecisionTree::choose(std::span<const double> features) const {
  const auto holds = [&](const Condition& one) { return (features[one.feature] > one.threshold) == one.above; };
  return std::ranges::find_if(leaves, [&](const Leaf& leaf) { return std::ranges::all_of(leaf.conditions, holds); })
      ->alternative;
}

DecisionTree fit_tree(std::span<const TreeCase> cases) {
  const Cases all = all_of(cases);
  return fit_tree(all, best_depth(all));
}

std::vector<std::size_t> unseen_by_tree(std::span<const TreeCase> cases) {
  std::vector<std::size_t> chosen;
  for_each_fold(all_of(cases), [&](const Cases& train, const Cases& held) {
    chosen.resize(cases.size());
    const DecisionTree tree = fit_tree(train, best_depth(train));
    for (const TreeCase* const one : held) {
      chosen[static_cast<std::size_t>(one - cases.data())] = tree.choose(one->features);
    }
  });
  return chosen;
}

}  // namespace c3sim::tune
