#include "calibrate/observation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/config/config_error.h"

namespace c3sim::calibrate {

namespace {

// A normal distribution has 2.563 standard deviations between its 10th and 90th percentile.
constexpr double between_percentiles = 2.563;

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
  study::Testbed testbed(platform);
  std::map<std::pair<study::Trial, std::set<study::Figure>>, study::Figures> known;
  std::vector<Observation> observations;
  for (const Measurement* const measurement : measurements) {
    std::set<study::Figure> asked;
    for (const Seen& seen : measurement->seen) asked.insert(seen.figure);
    auto predicted = known.find({measurement->trial, asked});
    if (predicted == known.end()) {
      if (std::string reason = study::why_impossible(testbed, measurement->trial); !reason.empty()) {
        throw sim::ConfigError({{measurement->where(), "", std::move(reason)}});
      }
      study::Figures figures = study::observe(testbed, measurement->trial, asked);
      predicted = known.emplace(std::pair(measurement->trial, asked), std::move(figures)).first;
    }
    for (const Seen& seen : measurement->seen) {
      const auto figure = predicted->second.find(seen.figure);
      if (figure == predicted->second.end()) continue;
      const bool is_share = study::form_of(seen.figure).error == study::ErrorKind::points;
      const double error = is_share ? figure->second - seen.value : figure->second / seen.value - 1.0;
      observations.push_back({measurement->where(), measurement->group, study::kind_of(measurement->trial), seen.figure,
                              study::size_of(measurement->trial), error, noise_of(seen, is_share)});
    }
  }
  return observations;
}

}  // namespace c3sim::calibrate
