#include "study/tune/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

namespace {

using Members = std::vector<std::size_t>;

constexpr std::size_t most_folds = 10;
constexpr double least_gain = 0.001;  // of a case's cost, for each case

struct Cheapest {
  std::size_t alternative = 0;
  double cost = 0.0;
};

Cheapest cheapest(std::span<const double> sums) {
  const auto least = std::ranges::min_element(sums);
  return {static_cast<std::size_t>(least - sums.begin()), *least};
}

std::vector<double> sums_of(const TreeCases& cases, std::span<const std::size_t> members) {
  std::vector<double> sums(cases.costs.front().size(), 0.0);
  for (const std::size_t member : members) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += cases.costs[member][i];
  }
  return sums;
}

struct Found {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t feature = 0;
  double low = 0.0, high = 0.0;  // of the cases on both sides of it
};

// The split after which both sides together cost least.
Found best_split(const TreeCases& cases, std::span<const std::size_t> members) {
  Found best;
  const std::vector<double> all = sums_of(cases, members);
  for (std::size_t feature = 0; feature < cases.features.front().size(); ++feature) {
    const auto value = [&](std::size_t member) { return cases.features[member][feature]; };
    Members sorted(members.begin(), members.end());
    std::ranges::stable_sort(sorted, {}, value);
    std::vector<double> below(all.size(), 0.0);
    std::vector<double> above = all;
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        below[j] += cases.costs[sorted[i]][j];
        above[j] -= cases.costs[sorted[i]][j];
      }
      if (value(sorted[i]) == value(sorted[i + 1])) continue;
      const double cost = cheapest(below).cost + cheapest(above).cost;
      if (cost < best.cost) best = {cost, feature, value(sorted[i]), value(sorted[i + 1])};
    }
  }
  return best;
}

std::size_t grow(std::vector<DecisionTree::Node>& nodes, const TreeCases& cases, std::span<const std::size_t> members,
                 int depth) {
  const Cheapest own = cheapest(sums_of(cases, members));
  const std::size_t place = nodes.size();
  nodes.push_back({own.alternative, members.size()});
  if (depth == 0) return place;
  const Found split = best_split(cases, members);
  if (!(own.cost - split.cost > least_gain * static_cast<double>(members.size()))) return place;
  const double threshold = round_between(split.low, split.high);
  Members below;
  Members above;
  for (const std::size_t member : members) {
    (cases.features[member][split.feature] <= threshold ? below : above).push_back(member);
  }
  const std::size_t first = grow(nodes, cases, below, depth - 1);
  const std::size_t second = grow(nodes, cases, above, depth - 1);
  nodes[place].split = DecisionTree::Split{split.feature, threshold, split.low, split.high, first, second};
  return place;
}

// Of each member the fold that its group belongs to, by the order in which groups appear.
std::vector<std::size_t> folds_of(const TreeCases& cases, std::span<const std::size_t> members) {
  std::vector<std::string> groups;
  std::vector<std::size_t> places;
  for (const std::size_t member : members) {
    const auto found = std::ranges::find(groups, cases.groups[member]);
    places.push_back(static_cast<std::size_t>(found - groups.begin()));
    if (found == groups.end()) groups.push_back(cases.groups[member]);
  }
  const std::size_t folds = std::min(most_folds, groups.size());
  for (std::size_t& place : places) place %= folds;
  return places;
}

// Calls test(train, held) for every fold of the members; not at all where there is but one.
void for_each_fold(const TreeCases& cases, std::span<const std::size_t> members,
                   const std::function<void(const Members& train, const Members& held)>& test) {
  const std::vector<std::size_t> folds = folds_of(cases, members);
  const std::size_t last = std::ranges::max(folds);
  for (std::size_t fold = 0; fold <= last && last > 0; ++fold) {
    Members train;
    Members held;
    for (std::size_t i = 0; i < members.size(); ++i) (folds[i] == fold ? held : train).push_back(members[i]);
    test(train, held);
  }
}

int best_depth(const TreeCases& cases, std::span<const std::size_t> members) {
  std::vector<double> costs(deepest_tree + 1, 0.0);
  for_each_fold(cases, members, [&](const Members& train, const Members& held) {
    for (int depth = 0; depth <= deepest_tree; ++depth) {
      const DecisionTree tree = fit_tree(cases, train, depth);
      for (const std::size_t member : held) {
        costs[static_cast<std::size_t>(depth)] += cases.costs[member][tree.choose(cases.features[member])];
      }
    }
  });
  return static_cast<int>(std::ranges::min_element(costs) - costs.begin());
}

Members all_of(const TreeCases& cases) {
  Members members(cases.features.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

double distance(std::span<const double> one, std::span<const double> other) {
  double sum = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double ratio = std::log(one[i] / other[i]);
    sum += ratio * ratio;
  }
  return sum;
}

// `fit` makes a rule, which chooses for a case, of those that it may see.
template <class Fit>
std::vector<std::size_t> unseen(const TreeCases& cases, const Fit& fit) {
  std::vector<std::size_t> chosen;
  if (cases.features.empty()) return chosen;
  for_each_fold(cases, all_of(cases), [&](const Members& train, const Members& held) {
    chosen.resize(cases.features.size());
    const auto rule = fit(train);
    for (const std::size_t member : held) chosen[member] = rule(member);
  });
  return chosen;
}

}  // namespace

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
  const Node* node = &nodes_.front();
  while (node->split) {
    const Split& split = *node->split;
    node = &nodes_[features[split.feature] <= split.threshold ? split.below : split.above];
  }
  return node->alternative;
}

DecisionTree fit_tree(const TreeCases& cases, std::span<const std::size_t> members, int depth) {
  std::vector<DecisionTree::Node> nodes;
  grow(nodes, cases, members, depth);
  return DecisionTree(std::move(nodes));
}

DecisionTree fit_tree(const TreeCases& cases) {
  const Members members = all_of(cases);
  return fit_tree(cases, members, best_depth(cases, members));
}

std::vector<std::size_t> unseen_by_tree(const TreeCases& cases) {
  return unseen(cases, [&](const Members& train) {
    return [&, tree = fit_tree(cases, train, best_depth(cases, train))](std::size_t member) {
      return tree.choose(cases.features[member]);
    };
  });
}

std::vector<std::size_t> unseen_by_nearest(const TreeCases& cases) {
  return unseen(cases, [&](const Members& train) {
    return [&](std::size_t member) {
      const auto far = [&](std::size_t other) { return distance(cases.features[member], cases.features[other]); };
      return cheapest(cases.costs[*std::ranges::min_element(train, {}, far)]).alternative;
    };
  });
}

}  // namespace c3sim::study
