#include "study/step/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>

#include "sim/config/config_error.h"
#include "sim/config/measurement_text.h"

namespace c3sim::study {

namespace {

constexpr double steepest = 8.0;

std::optional<double> number_in(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// That a token chooses each expert, of as many as it uses: in proportion to the shares, and certain at most.
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

}  // namespace

RoutedLoad load_of(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks, std::int64_t tokens) {
  if (routing.dealt) {
    return {1.0, static_cast<double>(std::min(experts, tokens * used)) / ranks};
  }
  const auto count = static_cast<std::size_t>(experts);
  std::vector<double> shares = routing.shares;
  if (shares.empty()) {
    for (std::size_t expert = 0; expert < count; ++expert)
      shares.push_back(std::pow(static_cast<double>(expert + 1), -routing.power));
  }
  const std::vector<double> chance = chances(shares, used);
  const auto of_ranks = static_cast<std::size_t>(ranks);
  std::vector<double> copies(of_ranks, 0.0);
  std::vector<double> busy(of_ranks, 0.0);
  for (std::size_t expert = 0; expert < count; ++expert) {
    const std::size_t rank = routing.shares.empty() ? expert % of_ranks : expert * of_ranks / count;
    copies[rank] += chance[expert];
    busy[rank] += 1.0 - std::pow(1.0 - chance[expert], static_cast<double>(tokens));
  }
  const auto most = std::ranges::max_element(copies) - copies.begin();
  const bool is_even = routing.shares.empty() && routing.power == 0.0;
  const double even = static_cast<double>(used) / ranks;
  return {is_even ? 1.0 : copies[static_cast<std::size_t>(most)] / even, busy[static_cast<std::size_t>(most)]};
}

Routing read_routing(const std::string& text) {
  constexpr std::string_view power = "power:";
  if (text.empty() || text == "even") return {};
  if (text == "dealt") return {.dealt = true, .told = text};
  if (text.starts_with(power)) {
    const std::optional<double> alpha = number_in(std::string_view(text).substr(power.size()));
    if (alpha && *alpha >= 0.0 && *alpha <= steepest) return {.power = *alpha, .told = text};
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
    const std::optional<double> share = number_in(line);
    if (!share || *share < 0.0) {
      faults.push_back(
          {fmt::format("{}:{}", text, number), "",
           fmt::format("'{}' is no share of the tokens: a number from 0 on each line is accepted, one for each expert",
                       line.substr(0, 60))});
    } else {
      routing.shares.push_back(*share);
    }
  }
  if (faults.empty() && std::accumulate(routing.shares.begin(), routing.shares.end(), 0.0) <= 0.0)
    faults.push_back({text, "", "has no expert with tokens: a share above 0 is due"});
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return routing;
}

}  // namespace c3sim::study
