#include "calibrate/fit/observation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/config/config_error.h"

namespace c3sim::calibrate {

namespace {

// A normal distribution has 2.563 standard deviations between its 10th and 90th percentile.
constexpr double between_percentiles = 2.563;

// The GEMM of which a trial is one in a series; none of other trials.
std::optional<study::GemmTrial> series_of(const study::Trial& trial) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
  if (gemm == nullptr || !gemm->nth || gemm->pause > sim::Time::zero()) return {};
  study::GemmTrial series = *gemm;
  series.nth.reset();
  return series;
}

// What the model has for measurements, simulated once for those that ask the same or are of one series.
class Predictions {
 public:
  Predictions(const models::PlatformSpec& platform, std::span<const Measurement* const> measurements)
      : testbed_(platform) {
    for (const Measurement* const measurement : measurements) {
      const auto series = series_of(measurement->trial);
      if (!series) continue;
      std::size_t& length = lengths_[*series];
      length = std::max(length, static_cast<std::size_t>(*std::get<study::GemmTrial>(measurement->trial).nth) + 1);
    }
  }

  const study::Figures& of(const Measurement& measurement) {
    std::set<study::Figure> asked;
    for (const Seen& seen : measurement.seen) asked.insert(seen.figure);
    const auto [place, is_new] = known_.try_emplace({measurement.trial, std::move(asked)});
    if (!is_new) return place->second;
    if (std::string reason = study::why_impossible(testbed_, measurement.trial); !reason.empty()) {
      throw sim::ConfigError({{measurement.where(), "", std::move(reason)}});
    }
    place->second = observed(measurement.trial, place->first.second);
    return place->second;
  }

 private:
  study::Figures observed(const study::Trial& trial, const std::set<study::Figure>& asked) {
    const auto gemm = series_of(trial);
    if (!gemm) return study::observe(testbed_, trial, asked);
    std::vector<study::Figures>& series = series_[*gemm];
    if (series.empty()) series = study::observe_series(testbed_, *gemm, lengths_.at(*gemm));
    return series[static_cast<std::size_t>(*std::get<study::GemmTrial>(trial).nth)];
  }

  study::Testbed testbed_;
  std::map<std::pair<study::Trial, std::set<study::Figure>>, study::Figures> known_;
  std::map<study::GemmTrial, std::size_t> lengths_;
  std::map<study::GemmTrial, std::vector<study::Figures>> series_;
};

double noise_of(const Seen& seen, bool is_share) {
  if (!seen.low || !seen.high || *seen.high <= *seen.low) return usual_noise;
  return (*seen.high - *seen.low) / between_percentiles / (is_share ? 1.0 : seen.value);
}

}  // namespace

double Observation::residual() const {
  if (study::form_of(figure).error == study::ErrorKind::points) return error;
  constexpr double least_ratio = 1e-6;  // a prediction of 0 is wrong enough
  return std::log(std::max(1.0 + error, least_ratio));
}

std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements) {
  Predictions predictions(platform, measurements);
  std::vector<Observation> observations;
  for (const Measurement* const measurement : measurements) {
    const study::Figures& predicted = predictions.of(*measurement);
    for (const Seen& seen : measurement->seen) {
      const auto figure = predicted.find(seen.figure);
      if (figure == predicted.end()) continue;
      const bool is_share = study::form_of(seen.figure).error == study::ErrorKind::points;
      const double error = is_share ? figure->second - seen.value : figure->second / seen.value - 1.0;
      observations.push_back({measurement->where(), measurement->group, study::kind_of(measurement->trial), seen.figure,
                              study::size_of(measurement->trial), error, noise_of(seen, is_share)});
    }
  }
  return observations;
}

}  // namespace c3sim::calibrate
