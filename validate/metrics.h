// What a group of cases amounts to, in the field's figures.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "validate/case.h"

namespace c3sim::validate {

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

}  // namespace c3sim::validate
