#include "validate/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "study/report/statistics.h"

namespace c3sim::validate {

namespace {

// Returns ranks from 1; equal values share the mean of their ranks.
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

}  // namespace

std::vector<const Case*> cases_that(std::span<const Case> cases, const std::function<bool(const Case&)>& meet) {
  std::vector<const Case*> some;
  for (const Case& one : cases) {
    if (meet(one)) some.push_back(&one);
  }
  return some;
}

std::vector<const Case*> one_for_each_subject(std::span<const Case> cases) {
  std::map<std::string, const Case*> by_subject;
  const auto size = [](const Case& one) { return one.is_scored() ? std::abs(one.error()) : -1.0; };
  for (const Case& one : cases) {
    const Case*& known = by_subject[subject_of(one)];
    if (known == nullptr || size(one) > size(*known)) known = &one;
  }
  return cases_that(cases, [&](const Case& one) { return by_subject[subject_of(one)] == &one; });
}

std::vector<const Case*> worst_of(std::span<const Case> cases, std::size_t most) {
  std::vector<const Case*> worst = one_for_each_subject(cases);
  std::erase_if(worst, [](const Case* one) { return !one->is_scored(); });
  std::ranges::stable_sort(worst, std::ranges::greater{}, [](const Case* one) { return std::abs(one->error()); });
  if (worst.size() > most) worst.resize(most);
  return worst;
}

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
  constexpr std::size_t fewest_ranked = 5;
  Metrics metrics{.cases = cases.size()};
  std::vector<double> measured, predicted, errors, magnitudes;
  double difference = 0.0;
  std::set<study::Figure> figures;
  for (const Case* const one : cases) {
    const std::optional<double> value = rule(*one);
    if (!value) continue;
    measured.push_back(one->measured);
    predicted.push_back(*value);
    errors.push_back(one->error_of(*value));
    magnitudes.push_back(std::abs(errors.back()));
    difference += std::abs(*value - one->measured);
    figures.insert(one->figure);
    if (is_within(magnitudes.back(), one->band)) ++metrics.within_band;
    if (one->interval) ++metrics.with_interval;
    if (one->is_within_interval()) ++metrics.within_interval;
    if (one->low && one->high && *one->low <= *value && *value <= *one->high) ++metrics.within_noise;
  }
  metrics.predicted = errors.size();
  if (errors.empty()) return metrics;
  const auto share_within = [&magnitudes](double limit) {
    const auto inside = std::ranges::count_if(magnitudes, [limit](double error) { return is_within(error, limit); });
    return static_cast<double>(inside) / static_cast<double>(magnitudes.size());
  };
  metrics.median = study::quantile(magnitudes, 0.5);
  metrics.p90 = study::quantile(magnitudes, 0.9);
  metrics.worst = std::ranges::max(magnitudes);
  metrics.bias = study::mean(errors);
  metrics.within_5 = share_within(0.05);
  metrics.within_10 = share_within(0.10);
  metrics.within_15 = share_within(0.15);
  if (figures.size() > 1) return metrics;
  const double sum = std::accumulate(measured.begin(), measured.end(), 0.0);
  if (sum > 0.0) metrics.wmape = difference / sum;
  if (errors.size() >= fewest_ranked) metrics.rank_correlation = rank_correlation(measured, predicted);
  return metrics;
}

Metrics metrics_of(std::span<const Case* const> cases) {
  return metrics_of(cases, [](const Case& one) { return one.predicted; });
}

namespace {

using study::Figure;
using study::Unfitted;

constexpr std::size_t fewest_told = 10;
constexpr std::array kinds_of_unfitted{Unfitted::alone, Unfitted::beside, Unfitted::steps};

// Returns nothing for replays, which repeat measured times except those of collectives, and for served requests, whose
// errors come mostly from queues.
std::optional<Unfitted> unfitted_work(const study::Trial& trial) {
  if (std::holds_alternative<study::ReplayTrial>(trial) || std::holds_alternative<study::ServeTrial>(trial)) return {};
  if (std::holds_alternative<study::StepTrial>(trial)) return Unfitted::steps;
  return study::is_concurrent(trial) ? Unfitted::beside : Unfitted::alone;
}

bool is_time(Figure figure) {
  return figure == Figure::time || figure == Figure::kernel_time || figure == Figure::gemm_time ||
         figure == Figure::collective_time;
}

// Returns whether assignments, other than of GPU number, library and host, make it another GPU than that of the file.
bool is_another_machine(const Machine& machine) {
  constexpr std::array<std::string_view, 3> of_the_same{"gpus=", "gpu.gemm.library=", "host."};
  return std::ranges::any_of(machine.assignments, [&](const std::string& assignment) {
    return std::ranges::none_of(of_the_same, [&](std::string_view part) { return assignment.starts_with(part); });
  });
}

}  // namespace

std::vector<UnfittedError> unfitted_errors(std::span<const Case> cases) {
  std::map<std::string, std::map<Unfitted, std::vector<double>>> deviations;  // logarithms, by platform
  for (const Case& one : cases) {
    const std::optional<Unfitted> work = unfitted_work(one.trial);
    if (is_another_machine(one.machine)) continue;
    if (!work || one.role != calibrate::Role::predict || !one.is_scored() || !is_time(one.figure)) continue;
    if (one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    const double off = std::abs(std::log(*one.predicted / one.measured));
    deviations[one.machine.platform][*work].push_back(off);
    deviations[one.machine.platform][Unfitted::none].push_back(off);
  }
  std::vector<UnfittedError> errors;
  for (auto& [platform, by_work] : deviations) {
    if (by_work[Unfitted::none].size() < fewest_told) continue;
    for (const Unfitted work : kinds_of_unfitted) {
      const bool of_all = by_work[work].size() < fewest_told;
      const std::vector<double>& off = by_work[of_all ? Unfitted::none : work];
      const double median = study::median(off);
      const double nine_in_ten = median * study::normal_quantile(0.95) / study::normal_quantile(0.75);
      errors.push_back({platform, work, off.size(), of_all, std::expm1(median), std::expm1(nine_in_ten)});
    }
  }
  return errors;
}

namespace {

// An Alternative has a measured and a predicted cost: a time, or the inverse of a speed, as means over repetitions.
struct Alternative {
  std::string name;
  double measured = 0.0;
  double predicted = 0.0;
};
using Decision = std::vector<Alternative>;

// Returns whether more of a figure is better.
bool is_speed(Figure figure) {
  using enum Figure;
  return figure == over_parallel_copies || figure == rate || figure == link_rate || figure == bus_bandwidth ||
         figure == flop_rate;
}

// Returns whether the figure of a case can decide: a time or a speed.
bool decides(const Case& one) { return !one.decision.empty() && (one.figure == Figure::time || is_speed(one.figure)); }

template <class Choose>
Record record_of(const std::vector<Decision>& decisions, const Choose& choose) {
  Record record;
  for (const Decision& decision : decisions) {
    const double best = std::ranges::min(decision, {}, &Alternative::measured).measured;
    const double regret = choose(decision).measured / best - 1.0;
    if (regret == 0.0) ++record.right;
    record.mean_regret += regret / static_cast<double>(decisions.size());
    record.worst_regret = std::max(record.worst_regret, regret);
  }
  return record;
}

// Fills in how well predictions choose, and which alternative does best if it is always chosen.
void judge(Choices& choices, const std::vector<Decision>& decisions) {
  choices.decisions = static_cast<int>(decisions.size());
  choices.predicted =
      record_of(decisions, [](const Decision& one) { return std::ranges::min(one, {}, &Alternative::predicted); });
  std::set<std::string> names;
  for (const Decision& decision : decisions) {
    for (const Alternative& alternative : decision) names.insert(alternative.name);
  }
  for (const std::string& name : names) {
    const Record record = record_of(decisions, [&](const Decision& decision) {
      const auto found = std::ranges::find(decision, name, &Alternative::name);
      return found == decision.end() ? decision.front() : *found;
    });
    if (!choices.always.empty() && record.mean_regret >= choices.trivial.mean_regret) continue;
    choices.always = name;
    choices.trivial = record;
  }
}

// Adds the decision among the cases of one figure, unless an alternative has no prediction.
void add_decision(const std::vector<const Case*>& cases, Choices& choices, std::vector<Decision>& decisions) {
  if (!std::ranges::all_of(cases, [](const Case* one) { return one->predicted.has_value(); })) {
    ++choices.incomplete;
    return;
  }
  Decision& decision = decisions.emplace_back();
  for (const auto& [name, members] : grouped(cases, &Case::alternative)) {
    const auto mean_of = [&members = members](const auto& value) {
      std::vector<double> costs;
      for (const Case* const one : members) costs.push_back(is_speed(one->figure) ? 1.0 / value(*one) : value(*one));
      return study::mean(costs);
    };
    decision.push_back({name, mean_of([](const Case& one) { return one.measured; }),
                        mean_of([](const Case& one) { return *one.predicted; })});
  }
}

}  // namespace

std::vector<Choices> choices_of(std::span<const Case> cases) {
  // The key is suite and file; the inner key is the decision, on a machine. If several figures of the same alternatives
  // were measured, the first one decides, and the time comes first.
  using Asked = std::map<Figure, std::vector<const Case*>>;
  std::map<std::pair<std::string, std::string>, std::map<std::pair<std::string, Machine>, Asked>> tables;
  for (const Case* const one : cases_that(cases, decides)) {
    tables[{one->suite, one->file()}][{one->decision, one->machine}][one->figure].push_back(one);
  }
  std::vector<Choices> all;
  for (const auto& [table, by_decision] : tables) {
    Choices choices{.suite = table.first, .group = table.second};
    std::vector<Decision> decisions;
    for (const auto& [about, asked] : by_decision) {
      const auto is_choice = [](const auto& one) { return grouped(one.second, &Case::alternative).size() > 1; };
      const auto decisive = std::ranges::find_if(asked, is_choice);
      if (decisive != asked.end()) add_decision(decisive->second, choices, decisions);
    }
    judge(choices, decisions);
    if (choices.decisions + choices.incomplete > 0) all.push_back(std::move(choices));
  }
  return all;
}

}  // namespace c3sim::validate
