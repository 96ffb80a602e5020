#include "validate/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "study/report/statistics.h"

namespace c3sim::validate {

namespace {

// Ranks from 1, equal values at the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [values](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end - 1) / 2.0 + 1.0;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

bool is_of_one_figure(std::span<const Case* const> cases) {
  return std::ranges::all_of(cases, [&](const Case* one) { return one->figure == cases.front()->figure; });
}

double share_within(const std::vector<double>& magnitudes, double limit) {
  const auto inside = std::ranges::count_if(magnitudes, [limit](double error) { return is_within(error, limit); });
  return static_cast<double>(inside) / static_cast<double>(magnitudes.size());
}

// What a rule said of the cases that it predicts.
struct Said {
  std::vector<const Case*> cases;
  std::vector<double> measured, predicted, errors, magnitudes;
};

Said ask(std::span<const Case* const> cases, const Rule& rule) {
  Said said;
  for (const Case* const one : cases) {
    const std::optional<double> value = rule(*one);
    if (!value) continue;
    said.cases.push_back(one);
    said.measured.push_back(one->measured);
    said.predicted.push_back(*value);
    said.errors.push_back(one->error_of(*value));
    said.magnitudes.push_back(std::abs(said.errors.back()));
  }
  return said;
}

void add_sums(Metrics& metrics, const Said& said) {
  constexpr std::size_t fewest_ranked = 5;
  if (!is_of_one_figure(said.cases)) return;
  double difference = 0.0;
  for (std::size_t i = 0; i < said.cases.size(); ++i) difference += std::abs(said.predicted[i] - said.measured[i]);
  const double measured = std::accumulate(said.measured.begin(), said.measured.end(), 0.0);
  if (measured > 0.0) metrics.wmape = difference / measured;
  if (said.cases.size() >= fewest_ranked) metrics.rank_correlation = rank_correlation(said.measured, said.predicted);
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> ranks_a = ranks_of(a);
  const std::vector<double> ranks_b = ranks_of(b);
  const double mean_a = study::mean(ranks_a);
  const double mean_b = study::mean(ranks_b);
  double product = 0.0;
  double square_a = 0.0;
  double square_b = 0.0;
  for (std::size_t i = 0; i < ranks_a.size(); ++i) {
    product += (ranks_a[i] - mean_a) * (ranks_b[i] - mean_b);
    square_a += (ranks_a[i] - mean_a) * (ranks_a[i] - mean_a);
    square_b += (ranks_b[i] - mean_b) * (ranks_b[i] - mean_b);
  }
  if (square_a <= 0.0 || square_b <= 0.0) return {};
  return product / std::sqrt(square_a * square_b);
}

Metrics metrics_of(std::span<const Case* const> cases, const Rule& rule) {
  Metrics metrics;
  metrics.cases = cases.size();
  const Said said = ask(cases, rule);
  metrics.predicted = said.cases.size();
  if (said.cases.empty()) return metrics;
  for (std::size_t i = 0; i < said.cases.size(); ++i) {
    const Case& one = *said.cases[i];
    if (is_within(said.magnitudes[i], one.band)) ++metrics.within_band;
    if (one.interval) ++metrics.with_interval;
    if (one.is_within_interval()) ++metrics.within_interval;
    if (one.low && one.high && *one.low <= said.predicted[i] && said.predicted[i] <= *one.high) ++metrics.within_noise;
  }
  metrics.median = study::quantile(said.magnitudes, 0.5);
  metrics.p90 = study::quantile(said.magnitudes, 0.9);
  metrics.worst = std::ranges::max(said.magnitudes);
  metrics.bias = study::mean(said.errors);
  metrics.within_5 = share_within(said.magnitudes, 0.05);
  metrics.within_10 = share_within(said.magnitudes, 0.10);
  metrics.within_15 = share_within(said.magnitudes, 0.15);
  add_sums(metrics, said);
  return metrics;
}

Metrics metrics_of(std::span<const Case* const> cases) {
  return metrics_of(cases, [](const Case& one) { return one.predicted; });
}

}  // namespace c3sim::validate
