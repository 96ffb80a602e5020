#include "study/tune/decisions.h"

#include <algorithm>
#include <numeric>

#include "sim/check.h"
#include "study/run/testbed_pool.h"

namespace c3sim::study {

namespace {

constexpr double cost_of_the_impossible = 1.0;

bool are_same(const Sizes& one, const Sizes& other) { return one.gemm == other.gemm && one.bytes == other.bytes; }

}  // namespace

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
  if (!attempts[alternative].is_possible) return cost_of_the_impossible;
  const double lost = regret(alternative);
  return lost <= as_good ? 0.0 : lost;
}

void Decisions::attempt(Testbed& testbed, const std::vector<MeasuredChoice>& measured, const Progress& progress,
                        int jobs) {
  TestbedPool(testbed).for_each(
      decisions_.size(), [&](Testbed& own, std::size_t index) { attempt(own, decisions_[index], measured); }, progress,
      jobs);
}

// Those of the least bounds first, as they rule most others out.
void Decisions::attempt(Testbed& testbed, Decision& decision, const std::vector<MeasuredChoice>& measured) const {
  const std::size_t count = alternatives_->all().size();
  decision.attempts.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Attempted& attempt = decision.attempts[i];
    attempt.is_possible = alternatives_->all()[i].is_possible(testbed, decision.sizes);
    if (attempt.is_possible) attempt.bound = alternatives_->all()[i].bound(testbed, decision.sizes);
  }
  for (const MeasuredChoice& one : measured) {
    if (one.kind != alternatives_->key() || !are_same(one.sizes, decision.sizes)) continue;
    const auto named = std::ranges::find(alternatives_->all(), one.alternative, &Alternative::name);
    SIM_CHECK(named != alternatives_->all().end());
    Attempted& attempt = decision.attempts[static_cast<std::size_t>(named - alternatives_->all().begin())];
    attempt.time = one.time;
    attempt.is_measured = true;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return decision.attempts[i].bound; });
  std::optional<sim::Time> best;
  for (const std::size_t i : order) {
    Attempted& attempt = decision.attempts[i];
    if (!attempt.is_possible) continue;
    if (!attempt.time) {
      if (best && sim::to_seconds(attempt.bound) > (1.0 + ruled_out_beyond) * sim::to_seconds(*best)) continue;
      attempt.time = alternatives_->all()[i].time(testbed, decision.sizes);
    }
    best = std::min(best.value_or(*attempt.time), *attempt.time);
  }
}

void Decisions::attempt(Testbed& testbed, const std::vector<std::size_t>& chosen, int jobs) {
  TestbedPool(testbed).for_each(
      decisions_.size(),
      [&](Testbed& own, std::size_t index) {
        Attempted& attempt = decisions_[index].attempts[chosen[index]];
        if (attempt.is_possible && !attempt.time) {
          attempt.time = alternatives_->all()[chosen[index]].time(own, decisions_[index].sizes);
        }
      },
      {}, jobs);
}

TreeCases Decisions::tree_cases() const {
  TreeCases cases;
  for (const Decision& decision : decisions_) {
    std::vector<double>& features = cases.features.emplace_back();
    for (const SizeFeature& feature : alternatives_->features()) features.push_back(feature.of(decision.sizes));
    std::vector<double>& costs = cases.costs.emplace_back();
    for (std::size_t i = 0; i < decision.attempts.size(); ++i) costs.push_back(decision.cost(i));
    cases.groups.push_back(decision.group);
  }
  return cases;
}

std::size_t Decisions::count(const std::function<bool(const Attempted&)>& counts) const {
  std::ptrdiff_t sum = 0;
  for (const Decision& decision : decisions_) sum += std::ranges::count_if(decision.attempts, counts);
  return static_cast<std::size_t>(sum);
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
  return static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
}

}  // namespace c3sim::study
