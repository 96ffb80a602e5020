#include "study/uncertainty/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "sim/check.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/interruption.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

namespace {

// Returns the quantile `share` of a factor, log-normal about 1, whose relative standard deviation is `spread`.
double factor_of(double spread, double share) {
  return std::exp(std::sqrt(std::log1p(spread * spread)) * normal_quantile(share));
}

constexpr std::string_view bytes_unit = "B";
// With an error of this many ranges, a normal distribution is flat within one range to a millionth.
constexpr double as_good_as_uniform = 1000.0;

// Returns the number in base units. The text is valid, since it was read before.
double number_of(const std::string& text, const std::string& unit) {
  const sim::Unit* const known = sim::unit_of(unit);
  const std::string_view bare = sim::trimmed(text);
  const sim::Parsed<double> parsed =
      known == nullptr ? sim::parse_number(bare) : sim::parse_quantity(bare, known->dimension);
  SIM_CHECK(parsed.error.empty());
  return parsed.value;
}

// `Uncertain` is a parameter with an error, and has all numbers in base units.
struct Uncertain {
  std::string path, unit;
  double value, error, low, high;
};

// Returns an assignment of the value below which this share of the parameter's distribution lies.
std::string assignment(const Uncertain& parameter, double share) {
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
  // Nine digits, more than anybody measures, hide how mathematical libraries differ in the last ones.
  std::string number = fmt::format("{:.9g}", value);
  std::erase(number, '+');  // of an exponent
  return fmt::format("{}={}{}{}", parameter.path, number, parameter.unit.empty() ? "" : " ", parameter.unit);
}

// Returns the parameters whose distribution is normal, or as good as uniform.
std::vector<Uncertain> uncertain_parameters(const Platform& platform) {
  std::vector<Uncertain> uncertain;
  for (const sim::Parameter& parameter : platform.parameters) {
    const auto number = [&parameter](const std::string& text) { return number_of(text, parameter.unit); };
    if (!parameter.error.empty()) {
      uncertain.push_back({parameter.path, parameter.unit, number(parameter.value), number(parameter.error),
                           number(parameter.low), number(parameter.high)});
    } else if (parameter.kind == "probed") {  // nobody has probed it: it lies anywhere within its range
      const double low = number(parameter.low);
      const double high = number(parameter.high);
      uncertain.push_back(
          {parameter.path, parameter.unit, 0.5 * (low + high), as_good_as_uniform * (high - low), low, high});
    }
  }
  return uncertain;
}

}  // namespace

Ensemble::Ensemble(const Platform& platform, const Sampling& sampling, int jobs, const Progress& progress,
                   const std::vector<std::string>& assigned)
    : name_(platform.spec.name), draws_(sampling.draws), hypercube_(sampling.draws, sampling.seed) {
  for (const Unfitted work : {Unfitted::alone, Unfitted::beside, Unfitted::steps}) {
    const std::string path = "unfitted_errors." + std::string(to_string(work));
    const auto known = std::ranges::find(platform.parameters, path, &sim::Parameter::path);
    if (known == platform.parameters.end()) continue;
    unfitted_[static_cast<std::size_t>(work)] = std::log1p(sim::parse_number(sim::trimmed(known->value)).value);
  }
  const bool model_errs =
      std::ranges::any_of(platform.spec.fitted_to, [](const models::FittedRange& row) { return row.spread > 0.0; });
  std::vector<std::vector<std::string>> draws = posterior_draws(platform, sampling.draws, sampling.seed);
  if (draws.front().empty() && !model_errs) return;
  for (std::vector<std::string>& draw : draws) draw.insert(draw.end(), assigned.begin(), assigned.end());
  std::vector<std::optional<models::PlatformSpec>> platforms(draws.size());
  std::vector<std::string> reasons(draws.size());
  const auto read = [&](std::size_t draw) {
    try {
      platforms[draw] = reassign(platform, draws[draw]);
    } catch (const sim::ConfigError& error) {
      reasons[draw] = error.faults().front().path + ": " + error.faults().front().what;
    }
  };
  for_each_index(draws.size(), read, progress, jobs);
  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    if (platforms[draw]) {
      members_.push_back({std::move(*platforms[draw]), draw});
    } else {
      impossible_.push_back(std::move(reasons[draw]));
    }
  }
}

double Ensemble::error_alone(const Member& member, const Work& work) const {
  const Spread spread = spread_of(work, member.platform);
  if (spread.relative <= 0.0) return 1.0;
  return factor_of(spread.relative, hypercube_.dimension("error of " + spread.of)[member.draw]);
}

// Raises each error to the share of time for which the work runs next to others. Kernels and channels that run at once
// share CUs, caches and memory: what the model misses of that is one number, and slows both.
double Ensemble::error_beside(const Member& member, const Work& work, const Company& company) const {
  const models::ConcurrentSpread& spread = member.platform.concurrent_spread;
  const auto error = [&](const char* who, double relative, double share) {
    if (relative <= 0.0 || share <= 0.0) return 1.0;
    return std::pow(factor_of(relative, hypercube_.dimension(who)[member.draw]), share);
  };
  switch (doer_of(work)) {
    case Doer::gemm:
    case Doer::kernel:
      return error("error of sharing CUs", spread.kernels_beside_channels, company.channels) *
             error("error of kernels beside engines", spread.kernels_beside_engines, company.engines);
    case Doer::channels:
      return error("error of sharing CUs", spread.channels_beside_kernels, company.kernels);
    case Doer::engines:
      return error("error of engines beside kernels", spread.engines_beside_kernels, company.kernels);
    case Doer::host:
      break;
  }
  return 1.0;
}

std::unique_ptr<Testbed> Ensemble::member(std::size_t index) const {
  const Member& member = members_[index];
  const auto factor = [this, &member](const Work& work, const Company& company) {
    return error_alone(member, work) * error_beside(member, work, company);
  };
  return std::make_unique<Testbed>(member.platform, factor);
}

std::vector<std::string> Ensemble::warnings() const {
  if (is_certain()) {
    const bool was_validated = std::ranges::any_of(unfitted_, [](double error) { return error > 0.0; });
    return {fmt::format(
        "{} tells of no errors of its parameters: {}; c3sim calibrate writes a platform that does", name_,
        was_validated ? "intervals, where there are any, follow from its validation alone" : "there is no interval")};
  }
  if (impossible_.empty()) return {};
  return {
      fmt::format("{} of {} draws are no platform and left out: {}", impossible_.size(), draws_, impossible_.front())};
}

std::vector<std::vector<std::string>> posterior_draws(const Platform& platform, std::size_t count, std::uint64_t seed) {
  const LatinHypercube hypercube(count, seed);
  const std::vector<Uncertain> uncertain = uncertain_parameters(platform);
  std::map<std::string, std::vector<double>> shares;  // by path
  for (const Uncertain& parameter : uncertain) {
    sim::ask_interruption();
    shares[parameter.path] = hypercube.dimension(parameter.path);
  }
  for (const models::CorrelationGroup& group : platform.spec.correlations) {
    std::vector<std::vector<double>> columns;
    for (const std::string& path : group.parameters) columns.push_back(shares.at(path));
    correlate(columns, group.matrix);
    for (std::size_t i = 0; i < columns.size(); ++i) shares.at(group.parameters[i]) = std::move(columns[i]);
  }
  std::vector<std::vector<std::string>> draws(count);
  for (const Uncertain& parameter : uncertain) {
    sim::ask_interruption();
    const std::vector<double>& column = shares.at(parameter.path);
    for (std::size_t draw = 0; draw < count; ++draw) draws[draw].push_back(assignment(parameter, column[draw]));
  }
  for (const sim::Parameter& parameter : platform.parameters) {
    if (parameter.alternatives.empty() || parameter.kind == "probed") continue;
    std::vector<std::string> values{parameter.value};
    values.insert(values.end(), parameter.alternatives.begin(), parameter.alternatives.end());
    const std::vector<double> column = hypercube.dimension(parameter.path);
    for (std::size_t draw = 0; draw < count; ++draw) {
      const auto chosen = static_cast<std::size_t>(column[draw] * static_cast<double>(values.size()));
      draws[draw].push_back(parameter.path + "=" + values[chosen]);
    }
  }
  return draws;
}

}  // namespace c3sim::study
