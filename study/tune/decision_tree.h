// A rule on features that says which alternative to choose: a decision tree that costs least where it was fitted, when
// each wrong choice costs what it costs (cost-sensitive CART; Breiman et al. 1984 split by the misclassified instead).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace c3sim::study {

class DecisionTree {
 public:
  // Where the path divides: at the threshold and below it on the one side, above on the other. Of the cases of the fit
  // the nearest lie at `low`, which is not above the threshold, and at `high`, which is: they tell no more of it.
  struct Split {
    std::size_t feature = 0;
    double threshold = 0.0;
    double low = 0.0, high = 0.0;
    std::size_t below = 0, above = 0;  // places of nodes
  };
  struct Node {
    std::size_t alternative = 0;  // that costs least of all cases that come here
    std::size_t cases = 0;        // that came here in the fit
    std::optional<Split> split{};
  };

  explicit DecisionTree(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::size_t choose(std::span<const double> features) const;
  const std::vector<Node>& nodes() const { return nodes_; }  // the first is the root

 private:
  std::vector<Node> nodes_;
};

// What trees are fitted to: of every case its features, all above 0, what each alternative costs, and the group of
// cases that are alike, all of which a test has seen or none.
struct TreeCases {
  std::vector<std::vector<double>> features;
  std::vector<std::vector<double>> costs;
  std::vector<std::string> groups;
};

inline constexpr int deepest_tree = 8;

// Of the numbers from `low` up to, but without `high`, both above 0, one of the fewest digits: near their geometric
// mean.
double round_between(double low, double high);

// Of at most so many splits from the root to a leaf, each of which takes one case in a thousand of a whole cost away. A
// threshold is round_between two cases.
DecisionTree fit_tree(const TreeCases& cases, std::span<const std::size_t> members, int depth);

// The same of all cases, with the depth at which trees cost least in groups that they have not seen.
DecisionTree fit_tree(const TreeCases& cases);

// What a rule chooses for cases that it has not seen: groups are dealt to at most ten folds, and of each fold the
// choice is that of a rule made from the others (`fit_tree`, its depth chosen among these; or the alternative that is
// best for the nearest case by the sum of squares of logarithms of ratios of features). Empty where all are of one
// group.
std::vector<std::size_t> unseen_by_tree(const TreeCases& cases);
std::vector<std::size_t> unseen_by_nearest(const TreeCases& cases);

}  // namespace c3sim::study
