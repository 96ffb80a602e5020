#include "study/network/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/measurement_text.h"

namespace c3sim::study {

namespace {

constexpr double steepest = 8.0;
constexpr double rounding = 0.01;  // tolerance of sums of shares

// Returns the number from 0 that the text is.
sim::ParsedQuantity number_in(std::string_view text) { return sim::parse_quantity(text, sim::Dimension::number); }

// Returns the probability that a token chooses each expert: proportional to the shares, at most 1, `used` in sum.
std::vector<double> chances(std::vector<double> shares, std::int64_t used) {
  std::vector<double> chance(shares.size(), 0.0);
  double left = static_cast<double>(used);
  for (bool capped = true; capped && left > 0.0;) {
    capped = false;
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (sum <= 0.0) break;
    const double each = left / sum;
    for (std::size_t expert = 0; expert < shares.size(); ++expert) {
      if (shares[expert] <= 0.0) continue;
      chance[expert] = std::min(1.0, each * shares[expert]);
      if (each * shares[expert] < 1.0) continue;
      shares[expert] = 0.0;
      left -= 1.0;
      capped = true;
    }
  }
  return chance;
}

// Returns the probabilities by rank. Experts by `power` are dealt to ranks in turn; those of a list lie in its order.
std::vector<std::vector<double>> chances_of_ranks(const Routing& routing, std::int64_t experts, std::int64_t used,
                                                  int ranks) {
  const auto count = static_cast<std::size_t>(experts);
  const auto of_ranks = static_cast<std::size_t>(ranks);
  std::vector<double> shares = routing.shares;
  if (shares.empty()) {
    for (std::size_t expert = 0; expert < count; ++expert)
      shares.push_back(std::pow(static_cast<double>(expert + 1), -routing.power));
  }
  const std::vector<double> chance = chances(shares, used);
  std::vector<std::vector<double>> dealt(of_ranks);
  for (std::size_t expert = 0; expert < count; ++expert) {
    dealt[routing.shares.empty() ? expert % of_ranks : expert * of_ranks / count].push_back(chance[expert]);
  }
  return dealt;
}

}  // namespace

RoutedLoad load_of(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks, std::int64_t tokens) {
  if (routing.dealt) {
    return {1.0, static_cast<double>(std::min(experts, tokens * used)) / ranks};
  }
  RoutedLoad load;
  double most = 0.0;
  for (const std::vector<double>& of_rank : chances_of_ranks(routing, experts, used, ranks)) {
    most = std::max(most, std::accumulate(of_rank.begin(), of_rank.end(), 0.0));
    double busy = 0.0;
    for (const double chance : of_rank) busy += 1.0 - std::pow(1.0 - chance, static_cast<double>(tokens));
    load.busy = std::max(load.busy, busy);
  }
  const bool is_even = routing.shares.empty() && routing.power == 0.0;
  if (!is_even) load.over_even = most * ranks / static_cast<double>(used);
  return load;
}

std::string why_impossible(const Routing& routing, std::int64_t used) {
  const std::vector<double>& shares = routing.shares;
  if (shares.empty() || used < 1) return {};
  const auto chosen = std::ranges::count_if(shares, [](double share) { return share > 0.0; });
  if (chosen < used) {
    return fmt::format("has {} experts with tokens, and a token uses {} different ones: {} at least are accepted",
                       chosen, used, used);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const auto most = std::ranges::max_element(shares);
  const double of_all = *most / sum;
  const double accepted = 1.0 / static_cast<double>(used);
  if (of_all <= accepted + rounding) return {};
  return fmt::format(
      "gives expert {} {:.3g} % of what tokens choose, of whose {} choices each is another expert: up to "
      "{:.3g} % are accepted",
      most - shares.begin(), 100.0 * of_all, used, 100.0 * accepted);
}

double ranks_of_token(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks) {
  if (routing.shares.empty() && routing.power == 0.0) {
    // `none` is the probability that all draws, without replacement, miss the experts of one rank.
    double none = 1.0;
    const std::int64_t others = experts - experts / ranks;
    for (std::int64_t drawn = 0; drawn < used; ++drawn) {
      none *= std::max(0.0, static_cast<double>(others - drawn)) / static_cast<double>(experts - drawn);
    }
    return ranks * (1.0 - none);
  }
  double all = 0.0;
  for (const std::vector<double>& of_rank : chances_of_ranks(routing, experts, used, ranks)) {
    double none = 1.0;
    for (const double chance : of_rank) none *= 1.0 - chance;
    all += 1.0 - none;
  }
  return all;
}

Routing read_routing(const std::string& text) {
  constexpr std::string_view power = "power:";
  if (text.empty() || text == "even") return {};
  if (text == "dealt") return {.dealt = true, .told = text};
  if (text.starts_with(power)) {
    const sim::ParsedQuantity alpha = number_in(std::string_view(text).substr(power.size()));
    if (alpha.ok() && alpha.value <= steepest) return {.power = alpha.value, .told = text};
    throw sim::ConfigError({{"--routing", "",
                             fmt::format("'{}' has no power: power:ALPHA with a number from 0 to {} is accepted",
                                         text.substr(0, 60), steepest)}});
  }
  std::istringstream lines(sim::read_measurement_text(text));
  std::vector<sim::Fault> faults;
  Routing routing{.told = text};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const sim::ParsedQuantity share = number_in(line);
    if (!share.ok()) {
      faults.push_back(
          {fmt::format("{}:{}", text, number), "",
           fmt::format("'{}' is no share of the tokens: a number from 0 on each line is accepted, one for each expert",
                       line.substr(0, 60))});
    } else {
      routing.shares.push_back(share.value);
    }
  }
  const double sum = std::accumulate(routing.shares.begin(), routing.shares.end(), 0.0);
  const bool counts = std::ranges::all_of(routing.shares, [](double share) { return share == std::floor(share); });
  if (faults.empty() && sum <= 0.0)
    faults.push_back({text, "", "has no expert with tokens: a share above 0 is needed"});
  if (faults.empty() && !counts && std::abs(sum - 1.0) > rounding) {
    faults.push_back(
        {text, "", fmt::format("has shares that add up to {:.4g}: 1 is accepted, or whole numbers of tokens", sum)});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return routing;
}

}  // namespace c3sim::study
