// Kinds of decisions: what there is to choose from, how long each choice takes, and which rules would choose well. Each
// decision is tried under the alternatives that its bounds leave.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/units.h"
#include "study/ask/trial.h"
#include "study/c3/strategy.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/program/dependent.h"

namespace c3sim::tune {

// A decision is about a GEMM, an array, or both. Rules on static sizes look at quantities that follow from these alone,
// on whatever machine (FiCCO, arXiv 2512.10236, calls them operator sizes).
struct Sizes {
  models::GemmShape gemm{1, 1, 1};
  sim::Bytes bytes{1.0};
};

struct SizeFeature {
  std::string_view name;        // "flops_per_byte"
  std::string_view about;       // "operations of the GEMM per byte of the array"
  std::string_view expression;  // of m, n, k and bytes, as C++ and people read it
  double (*of)(const Sizes& sizes);
};

// One of what there is to choose from, at whatever sizes.
struct Alternative {
  std::string name;
  // It holds the alternative as tables of measured pairs name it, but without sizes: a strategy of ConCCL, and
  // channels, reserved CUs and what engines do where the library does not choose these. CUs that are reserved beside
  // engines are kept from the GEMM alone. For a collective alone it says what carries that, and for a dependent
  // schedule nothing.
  study::C3Trial trial;
  std::function<bool(const study::Testbed& testbed, const Sizes& sizes)> is_possible;  // whether the platform can do it
  // Where it is possible: what it cannot be faster than, and how long it takes; from the launch of the first operation
  // until the host knows of the last end.
  std::function<sim::Time(study::Testbed&testbed, const Sizes&sizes)> bound, time;
};

// The alternatives of one kind of decision on one platform, the same for every size. The first is what is done without
// a choice: the library's kernels, or one after the other.
class Alternatives {
 public:
  enum class Subject { collective, pair, schedule };

  // `kind`: of the collective, where there is an independent one.
  Alternatives(Subject subject, std::string key, std::string about, std::span<const SizeFeature> features,
               models::CollectiveKind kind = {})
      : subject_(subject), key_(std::move(key)), about_(std::move(about)), features_(features), kind_(kind) {}

  Subject subject() const { return subject_; }
  const std::string& key() const { return key_; }      // an identifier: "all_gather_beside_gemm"
  const std::string& about() const { return about_; }  // in words
  std::span<const SizeFeature> features() const { return features_; }
  models::CollectiveKind kind() const { return kind_; }
  const std::vector<Alternative>& all() const { return all_; }
  void add(Alternative alternative) { all_.push_back(std::move(alternative)); }

  // Of pairs, the alternative that a strategy of ConCCL is: its heuristics decide by the sizes, conccl_rp by the GEMM.
  // None where it is not among the alternatives.
  std::optional<std::size_t> by_strategy(study::Testbed& testbed, const Sizes& sizes, study::Strategy strategy) const;
  study::C3Trial trial_of(const Sizes& sizes, std::size_t alternative) const;
  // The other way round, whatever the sizes; none where the trial is not among the alternatives.
  std::optional<std::size_t> of_trial(const study::C3Trial& trial) const;

 private:
  Subject subject_;
  std::string key_;
  std::string about_;
  std::span<const SizeFeature> features_;
  models::CollectiveKind kind_;
  std::vector<Alternative> all_;
};

// A collective that has the node to itself.
Alternatives collective_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);
// A GEMM beside a collective.
Alternatives pair_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);
// A GEMM whose operand is gathered, or whose result is scattered: the schedules of study/program/dependent.h.
Alternatives schedule_alternatives(study::DependentSchedule::Collective collective);

// A rule on features that says which alternative to choose: a decision tree that costs least where it was fitted, when
// each wrong choice costs what it costs (cost-sensitive CART; Breiman et al. 1984 split by the misclassified instead).
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

// Returns a number of the fewest digits that lies from `low` up to, but without, `high`, both above 0, and near their
// geometric mean.
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

// Of one alternative.
struct Attempted {
  bool is_possible = true;
  sim::Time bound{0};               // it takes at least so long
  std::optional<sim::Time> time{};  // none where its bound rules it out
  bool is_measured = false;         // rather than predicted

  // What is known: the time, or the bound.
  sim::Time known() const { return time.value_or(bound); }
};

// One decision.
struct Decision {
  std::string name;   // "8192x57344x8192 and 896MiB"
  std::string group;  // decisions of one GEMM, or of one size
  Sizes sizes;
  bool is_drawn = false;              // rather than asked for: for rules alone
  std::vector<Attempted> attempts{};  // by alternative

  // Up to this regret a choice is as good as the best: nobody would measure a difference.
  static constexpr double as_good = 0.01;

  std::size_t best() const;      // the fastest of what was tried
  std::size_t plainest() const;  // the first in order of those that are as good
  // What a possible alternative takes longer than the best, relative to that; by its bound where it was ruled out.
  double regret(std::size_t alternative) const;
  // What it costs a rule to choose it: its regret, nothing where it is as good as the best, and as much as twice the
  // time of the best where it is impossible.
  double cost(std::size_t alternative) const;
};

// A measured time of an alternative.
struct MeasuredChoice {
  std::string kind;  // Alternatives::key()
  Sizes sizes;
  std::string alternative;  // its name
  sim::Time time{0};
};

class Decisions {
 public:
  // An alternative whose bound is beyond the best time by this share is ruled out: it is not simulated unless a rule
  // chooses it.
  static constexpr double ruled_out_beyond = 0.1;

  Decisions(Alternatives alternatives, std::vector<Decision> decisions)
      : alternatives_(std::move(alternatives)), decisions_(std::move(decisions)) {}

  // Tries what bounds do not rule out; measured times stand for predicted ones.
  void attempt(study::Testbed& testbed, const std::vector<MeasuredChoice>& measured, const study::Progress& progress,
               int jobs);
  // Tries one alternative for each decision, ruled out or not.
  void attempt(study::Testbed& testbed, const std::vector<std::size_t>& chosen, int jobs);

  const Alternatives& alternatives() const { return alternatives_; }
  const std::vector<Decision>& all() const { return decisions_; }
  // By Decision::cost: among choices that are as good plain ones win.
  TreeCases tree_cases() const;
  // Of all alternatives of all decisions, how many are possible, and how many of these were tried.
  std::size_t possible() const { return count(&Attempted::is_possible); }
  std::size_t tried() const {
    return count([](const Attempted& one) { return one.time.has_value(); });
  }

 private:
  std::size_t count(const std::function<bool(const Attempted&)>& counts) const;
  void attempt(study::Testbed& testbed, Decision& decision, const std::vector<MeasuredChoice>& measured) const;

  Alternatives alternatives_;
  std::vector<Decision> decisions_;
};

// How good a rule is on decisions.
struct RuleRecord {
  std::string rule;
  std::size_t decisions = 0;
  std::size_t possible = 0;  // of these, those in which the platform can do what the rule chooses: all else is of them
  std::size_t right = 0;     // choices as good as the best
  std::size_t within_error = 0;  // choices that predictions cannot tell from the best
  double mean_regret = 0.0;      // what its choices take longer than the best, relative to that
  double worst_regret = 0.0;
};
RuleRecord record_of(std::string rule, const std::vector<Decision>& decisions, const std::vector<std::size_t>& chosen,
                     double error);

// The one alternative that loses least when it is always chosen, known in hindsight.
std::size_t best_constant(const std::vector<Decision>& decisions);

}  // namespace c3sim::tune
