// What a group of cases amounts to, in the field's figures.
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

// The cases that have the same key, in the order in which keys first appear.
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

// Errors are relative, or in points where the figure is a share; both are fractions (0.05).
struct Metrics {
  std::size_t cases = 0;
  std::size_t predicted = 0;  // of these; all below is of them
  std::size_t within_noise = 0;
  std::size_t within_band = 0;
  std::size_t with_interval = 0;                            // predictions that have one
  std::size_t within_interval = 0;                          // of these, how often it holds what was measured
  double median = 0.0;                                      // of the magnitudes
  double p90 = 0.0;                                         // likewise; interpolated between ranks
  double worst = 0.0;                                       // likewise
  double bias = 0.0;                                        // mean of the errors with their signs
  double within_5 = 0.0, within_10 = 0.0, within_15 = 0.0;  // shares of the cases, in percent of error
  std::optional<double> wmape;             // sum of differences over sum of measured; of cases of one figure alone
  std::optional<double> rank_correlation;  // Spearman's, of five cases of one figure and more
};

Metrics metrics_of(std::span<const Case* const> cases);

// The same of what a rule predicts, of the cases that it predicts.
using Rule = std::function<std::optional<double>(const Case& one)>;
Metrics metrics_of(std::span<const Case* const> cases, const Rule& rule);

// Spearman's rank correlation of two equally long lists, equal values sharing their rank; none where either is
// constant.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

// How far off times were that nothing was fitted to: what `unfitted_errors` of a platform file says, so that intervals
// are no narrower (study/uncertainty/ensemble.h).
struct UnfittedError {
  std::string platform;
  study::Unfitted work;
  std::size_t cases = 0;  // of this work, or, where those are too few to tell, of all of the platform
  bool of_all = false;
  double median = 0.0;  // factor between predicted and measured, less one
  // The same that nine in ten stay within, if logarithms of factors are normal and have this median. Fewer do: sizes at
  // which latency rules are far off, and would make every interval as wide as theirs.
  double nine_in_ten = 0.0;
};

// Of times with the role of predictions that are scored, by platform, each of the three kinds of work. None of a
// platform with fewer than ten.
std::vector<UnfittedError> unfitted_errors(std::span<const Case> cases);

// Decisions among measured alternatives: would one who believed the predictions have chosen well, and better than one
// who always chooses the same?

// How well a way of choosing does over several decisions.
struct Record {
  int right = 0;             // decisions in which it names the best measured alternative
  double mean_regret = 0.0;  // what it loses against that one, relative, over all decisions
  double worst_regret = 0.0;
};

struct Choices {
  std::string suite;
  std::string group;  // of the cases
  int decisions = 0;
  int incomplete = 0;  // further ones that are not judged: an alternative has no prediction
  Record predicted;
  std::string always;  // the alternative that loses least if it is chosen every time: known only in hindsight
  Record trivial;      // of always choosing it, where it was measured; elsewhere the first alternative
};

// The decisions of all cases that have one, by suite and table: among alternatives of which the same figure was
// measured, two at least. Repeated measurements of one alternative count by their mean. Where several figures were
// measured, the time decides, or else the first of those that say how fast it went.
std::vector<Choices> choices_of(std::span<const Case> cases);

}  // namespace c3sim::validate
