#include "study/tune/decision_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

namespace c3sim::study {

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
