// A decision chooses one of several alternatives for a GEMM, a collective or both. This file offers the alternatives of
// each kind of decision, the times that they take, and decision trees that choose by sizes alone.
#pragma once

#include <cstddef>
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

// The sizes that a decision is about: a GEMM, an array, or both. Rules on static sizes use only features that follow
// from the sizes on any machine (FiCCO, arXiv 2512.10236, calls them operator sizes).
struct Sizes {
  models::GemmShape gemm{1, 1, 1};
  sim::Bytes bytes{1.0};

  bool operator==(const Sizes&) const = default;
};

struct SizeFeature {
  std::string_view name;        // "flops_per_byte"
  std::string_view about;       // "operations of the GEMM per byte of the array"
  std::string_view expression;  // in m, n, k and bytes, valid as C++ and readable by people

  double of(const Sizes& sizes) const;
};

// One way to run the operations of a decision, whatever their sizes are.
struct Alternative {
  std::string name;
  // `trial` describes the alternative without sizes, as tables of measured pairs do: it holds a strategy of ConCCL and,
  // where the library does not choose them, channels, reserved CUs and the copy plan of the engines. CUs reserved while
  // engines run are kept from the GEMM alone. For a collective alone `trial` says what carries the collective.
  study::C3Trial trial{};
  study::DependentSchedule schedule{};  // of a decision about schedules, which has no trial
};

// Holds the alternatives of one kind of decision on one platform, the same for every size. The first alternative is
// what runs without a choice: the library's kernels, or GEMM and collective one after the other.
struct Alternatives {
  enum class Subject { collective, pair, schedule };

  Subject subject;
  std::string key;    // an identifier: "all_gather_beside_gemm"
  std::string about;  // a description in words
  std::span<const SizeFeature> features;
  models::CollectiveKind kind{};  // of the collective, where the collective is independent of the GEMM
  std::vector<Alternative> all{};

  // Returns whether the platform can do the alternative.
  bool is_possible(const study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const;
  // Return a time that a possible alternative cannot beat, and how long it takes. Both run from the launch of the first
  // operation until the host knows that the last one has ended.
  sim::Time bound(study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const;
  sim::Time time(study::Testbed& testbed, const Sizes& sizes, std::size_t alternative) const;

  std::vector<double> features_of(const Sizes& sizes) const;
  // Returns the alternative of a pair that `strategy` of ConCCL amounts to: the heuristic decides by the sizes,
  // conccl_rp by the GEMM. Returns none where the strategy is not among the alternatives.
  std::optional<std::size_t> by_strategy(study::Testbed& testbed, const Sizes& sizes, study::Strategy strategy) const;
  study::C3Trial trial_of(const Sizes& sizes, std::size_t alternative) const;
  // Returns the alternative that a trial of any size is; none where the trial is not among the alternatives.
  std::optional<std::size_t> of_trial(const study::C3Trial& trial) const;
};

// Returns the alternatives for a collective that has the node to itself.
Alternatives collective_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);
// Returns the alternatives for a GEMM that runs concurrently with an independent collective.
Alternatives pair_alternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);
// Returns the schedules of study/program/dependent.h for a GEMM whose operand is gathered or whose result is scattered.
Alternatives schedule_alternatives(study::DependentSchedule::Collective collective);

// A DecisionTree chooses an alternative from features. It minimizes the summed cost of its choices over the cases that
// it was fitted to (cost-sensitive CART; Breiman et al. 1984 minimize the number of misclassified cases instead).
struct DecisionTree {
  // A Condition holds at or below the threshold or, if `above` is set, above it.
  struct Condition {
    std::size_t feature = 0;
    double threshold = 0.0;
    bool above = false;
  };
  // A Leaf is reached where all its conditions hold, which are those from the root of the tree on.
  struct Leaf {
    std::vector<Condition> conditions;
    std::size_t alternative = 0;  // the cheapest over all cases that reach it
    std::size_t cases = 0;        // of the fit that reach it
  };

  std::vector<Leaf> leaves{};  // those below a threshold come before those above it

  std::size_t choose(std::span<const double> features) const;
};

// A TreeCase is what trees are fitted to: the features of a case, all above 0, the cost of each alternative, and the
// group of similar cases that cross-validation keeps together in one fold.
struct TreeCase {
  std::vector<double> features;
  std::vector<double> costs;
  std::string group;
};

// Returns a number with the fewest digits in [low, high), near the geometric mean of the two; both are above 0.
double round_between(double low, double high);

// Fits a tree, with the depth of at most 8 splits that costs least in cross-validation over the groups. Each split
// lowers the cost by more than 0.001 per case, and its threshold is round_between two cases.
DecisionTree fit_tree(std::span<const TreeCase> cases);

// Returns what fit_tree chooses for each case in cross-validation: groups are dealt to at most ten folds, and the tree
// for a fold is fitted to the other folds. The result is empty where all cases are in one group.
std::vector<std::size_t> unseen_by_tree(std::span<const TreeCase> cases);

// Attempted holds what is known about one alternative of one decision.
struct Attempted {
  bool is_possible = true;
  sim::Time bound{0};               // a lower bound of the time
  std::optional<sim::Time> time{};  // none where the bound rules the alternative out
  bool is_measured = false;         // whether `time` was measured rather than predicted

  // Returns the time, or its lower bound where the time is not known.
  sim::Time known() const { return time.value_or(bound); }
};

struct Decision {
  std::string name;   // "8192x57344x8192 and 896MiB"
  std::string group;  // the same for all decisions of one GEMM, or of one size
  Sizes sizes;
  bool is_drawn = false;              // drawn at random to fit rules, rather than asked for
  std::vector<Attempted> attempts{};  // by alternative

  // A choice whose regret is at most `as_good` counts as good as the best: nobody would measure a difference.
  static constexpr double as_good = 0.01;

  std::size_t best() const;      // the alternative with the shortest known time
  std::size_t plainest() const;  // the first alternative that is as good as the best
  // Returns the extra time of a possible alternative relative to the best; by its bound if it was ruled out.
  double regret(std::size_t alternative) const;
  // Returns what choosing the alternative costs a rule: its regret, 0 where it is as good as the best, and 1, as if it
  // took twice the time of the best, where it is impossible.
  double cost(std::size_t alternative) const;
};

// MeasuredChoice is the measured time of one alternative at given sizes.
struct MeasuredChoice {
  std::string kind;  // Alternatives::key()
  Sizes sizes;
  std::string alternative;  // Alternative::name
  sim::Time time{0};
};

// RuleRecord tells how well a rule chooses on given decisions.
struct RuleRecord {
  std::string rule;
  std::size_t decisions = 0;
  std::size_t possible = 0;      // decisions in which the rule's choice is possible; all else counts these alone
  std::size_t right = 0;         // choices as good as the best
  std::size_t within_error = 0;  // choices that predictions cannot tell from the best
  double mean_regret = 0.0;      // extra time of the choices over the best, relative to the best
  double worst_regret = 0.0;
};
RuleRecord record_of(std::string rule, const std::vector<Decision>& decisions, const std::vector<std::size_t>& chosen,
                     double error);

// Decisions of one kind, with its alternatives, the tree fitted to them, and how well the tree and other rules choose.
struct Decisions {
  Alternatives alternatives;
  std::vector<Decision> all;
  DecisionTree tree{};
  // The first rule always chooses the best constant. Simple rules follow; "tree" comes last, judged by
  // cross-validation, where there is more than one GEMM or size.
  std::vector<RuleRecord> rules{};

  // Simulates the alternatives that bounds do not rule out: those whose bound exceeds the best time by no more than the
  // share `beyond`. Measured times, of several their median, replace predicted ones.
  void attempt(study::Testbed& testbed, const std::vector<MeasuredChoice>& measured, double beyond,
               const study::Progress& progress, int jobs);
  // Simulates one alternative of each decision, whether or not its bound rules it out.
  void attempt(study::Testbed& testbed, const std::vector<std::size_t>& chosen, int jobs);

  // Returns cases whose costs are Decision::cost, so that fits prefer the earliest of alternatives that are as good.
  std::vector<TreeCase> tree_cases() const;
};

// Returns the alternative that costs least over all decisions if it is always chosen, known in hindsight.
std::size_t best_constant(const std::vector<Decision>& decisions);

}  // namespace c3sim::tune
