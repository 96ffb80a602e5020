#include "study/uncertainty/posterior.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/check.h"
#include "sim/config/quantity_text.h"
#include "sim/interruption.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

namespace {

constexpr std::string_view bytes_unit = "B";
// An error of so many ranges: within one, such a normal distribution is flat to a millionth.
constexpr double as_good_as_uniform = 1000.0;

// In base units. The text was read before.
double number_of(const std::string& text, const std::string& unit) {
  const sim::Unit* const known = sim::unit_of(unit);
  const std::string_view bare = sim::trimmed(text);
  const sim::Parsed<double> parsed =
      known == nullptr ? sim::parse_number(bare) : sim::parse_quantity(bare, known->dimension);
  SIM_CHECK(parsed.error.empty());
  return parsed.value;
}

}  // namespace

Posterior::Posterior(const Platform& platform) : correlations_(platform.spec.correlations) {
  for (const sim::Parameter& parameter : platform.parameters) {
    const bool is_probed = parameter.kind == "probed";
    if (!parameter.alternatives.empty() && !is_probed) {
      Assumed& assumed = assumed_.emplace_back(Assumed{parameter.path, {parameter.value}});
      assumed.values.insert(assumed.values.end(), parameter.alternatives.begin(), parameter.alternatives.end());
    }
    const auto number = [&parameter](const std::string& text) { return number_of(text, parameter.unit); };
    if (!parameter.error.empty()) {
      parameters_.push_back({parameter.path, parameter.unit, number(parameter.value), number(parameter.error),
                             number(parameter.low), number(parameter.high)});
    } else if (is_probed) {  // nobody has probed it: anywhere within its range
      const double low = number(parameter.low);
      const double high = number(parameter.high);
      parameters_.push_back(
          {parameter.path, parameter.unit, 0.5 * (low + high), as_good_as_uniform * (high - low), low, high});
    }
  }
}

// The value below which such a share of the parameter's distribution lies.
std::string Posterior::assignment(const Uncertain& parameter, double share) {
  const auto below = [&parameter](double end) { return normal_share((end - parameter.value) / parameter.error); };
  const double at_low = below(parameter.low);
  const double within = at_low + share * (below(parameter.high) - at_low);
  double value = parameter.low;
  if (within >= 1.0) {
    value = parameter.high;
  } else if (within > 0.0) {
    value = parameter.value + parameter.error * normal_quantile(within);
  }
  value = std::clamp(value, parameter.low, parameter.high);
  if (parameter.unit == bytes_unit) return fmt::format("{}={:.0f} B", parameter.path, value);
  // Nine digits, beyond what anybody measures, hide what mathematical libraries make of the last ones.
  std::string number = fmt::format("{:.9g}", value);
  std::erase(number, '+');  // of an exponent
  return fmt::format("{}={}{}{}", parameter.path, number, parameter.unit.empty() ? "" : " ", parameter.unit);
}

std::vector<std::vector<std::string>> Posterior::draws(std::size_t count, std::uint64_t seed) const {
  const LatinHypercube hypercube(count, seed);
  std::map<std::string, std::vector<double>> shares;  // by path
  for (const Uncertain& parameter : parameters_) {
    sim::ask_interruption();
    shares[parameter.path] = hypercube.dimension(parameter.path);
  }
  for (const models::CorrelationGroup& group : correlations_) {
    std::vector<std::vector<double>> columns;
    for (const std::string& path : group.parameters) columns.push_back(shares.at(path));
    correlate(columns, group.matrix);
    for (std::size_t i = 0; i < columns.size(); ++i) shares.at(group.parameters[i]) = std::move(columns[i]);
  }
  std::vector<std::vector<std::string>> draws(count);
  for (const Uncertain& parameter : parameters_) {
    sim::ask_interruption();
    const std::vector<double>& column = shares.at(parameter.path);
    for (std::size_t draw = 0; draw < count; ++draw) draws[draw].push_back(assignment(parameter, column[draw]));
  }
  for (const Assumed& assumed : assumed_) {
    const std::vector<double> column = hypercube.dimension(assumed.path);
    const auto count_of_values = static_cast<double>(assumed.values.size());
    for (std::size_t draw = 0; draw < count; ++draw) {
      const auto chosen = static_cast<std::size_t>(column[draw] * count_of_values);
      draws[draw].push_back(assumed.path + "=" + assumed.values[chosen]);
    }
  }
  return draws;
}

}  // namespace c3sim::study
