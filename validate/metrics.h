// Sums up groups of cases in the usual error statistics, and judges the decisions that predictions lead to.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "study/uncertainty/ensemble.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

std::vector<const Case*> cases_that(std::span<const Case> cases, const std::function<bool(const Case&)>& meet);

// Returns one case for each subject, in the order of cases: the one with the largest error.
std::vector<const Case*> one_for_each_subject(std::span<const Case> cases);
// Returns the scored cases with the largest errors, the worst first, and one for each subject.
std::vector<const Case*> worst_of(std::span<const Case> cases, std::size_t most);

// Returns groups of cases with the same key, in the order in which keys first appear.
template <class KeyOf>
auto grouped(std::span<const Case* const> cases, const KeyOf& key_of) {
  using Key = std::decay_t<std::invoke_result_t<const KeyOf&, const Case&>>;
  std::vector<std::pair<Key, std::vector<const Case*>>> groups;
  std::map<Key, std::size_t> places;
  for (const Case* const one : cases) {
    const auto [place, is_new] = places.emplace(std::invoke(key_of, *one), groups.size());
    if (is_new) groups.push_back({place->first, {}});
    groups[place->second].second.push_back(one);
  }
  return groups;
}

// Metrics sums up errors, which are relative, or in points for shares; both are fractions (0.05).
struct Metrics {
  std::size_t cases = 0;
  std::size_t predicted = 0;  // number of cases with a prediction; all below is about these
  std::size_t within_noise = 0;
  std::size_t within_band = 0;
  std::size_t with_interval = 0;                            // predictions that have an interval
  std::size_t within_interval = 0;                          // intervals that hold the measured value
  double median = 0.0;                                      // of the magnitudes of errors
  double p90 = 0.0;                                         // of the magnitudes, interpolated between ranks
  double worst = 0.0;                                       // of the magnitudes
  double bias = 0.0;                                        // mean of the errors with their signs
  double within_5 = 0.0, within_10 = 0.0, within_15 = 0.0;  // shares of cases, by percent of error
  std::optional<double> wmape{};             // sum of differences over sum of measured values; for a single figure only
  std::optional<double> rank_correlation{};  // Spearman's, for five or more cases of one figure
};

Metrics metrics_of(std::span<const Case* const> cases);

// Returns the metrics of a rule over the cases that it predicts.
using Rule = std::function<std::optional<double>(const Case& one)>;
Metrics metrics_of(std::span<const Case* const> cases, const Rule& rule);

// Returns Spearman's rank correlation of two equally long lists, in which equal values share their rank, or nothing if
// either list is constant.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

// An UnfittedError says how far off predicted times were to which nothing was fitted. Platform files hold it as
// `unfitted_errors`, so that intervals are no narrower (study/uncertainty/ensemble.h).
struct UnfittedError {
  std::string platform;
  study::Unfitted work;
  std::size_t cases = 0;  // of this work or, if these are too few, of all work on the platform
  bool of_all = false;
  double median = 0.0;  // factor between predicted and measured, less one
  // Nine in ten cases would stay within this error if logarithms of factors were normal with this median. Fewer do,
  // since sizes at which latency dominates are far off; they would make every interval as wide as theirs.
  double nine_in_ten = 0.0;
};

// Returns the errors of scored times with role predict, by platform and for each of the three kinds of work. Platforms
// with fewer than ten such times are left out.
std::vector<UnfittedError> unfitted_errors(std::span<const Case> cases);

// The following types judge decisions among measured alternatives: whether somebody who believed the predictions would
// have chosen well, and better than somebody who always chooses the same.

// A Record says how well a way of choosing does over several decisions.
struct Record {
  int right = 0;             // decisions in which it names the best measured alternative
  double mean_regret = 0.0;  // relative loss against the best alternative, over all decisions
  double worst_regret = 0.0;
};

struct Choices {
  std::string suite;
  std::string group;  // file of the table
  int decisions = 0;
  int incomplete = 0;  // decisions that are not judged, since an alternative has no prediction
  Record predicted{};
  std::string always{};  // alternative that loses least if always chosen, known only in hindsight
  Record trivial{};      // of always choosing it or, if it was not measured, the first alternative
};

// Returns how well predictions decide, by suite and table. A decision is among at least two alternatives with the same
// measured figure. Repeated measurements of an alternative count by their mean. Of several measured figures the time
// decides, or else the first one that is a speed.
std::vector<Choices> choices_of(std::span<const Case> cases);

}  // namespace c3sim::validate
